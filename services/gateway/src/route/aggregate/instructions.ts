// Instructions of an aggregate (protocol.md §5.7): each server's own under a heading that says whose they are and
// what its names begin with. Upstream text is untrusted: it is capped, and it cannot pose as another server's part
// by a heading of its own level.

export interface Part {
  readonly server: string;
  readonly text: string;
}

const MAX_PART = 4000;
const MAX_WHOLE = 16_000;

export function mergeInstructions(parts: readonly Part[]): string | undefined {
  const own = parts.filter((p) => p.text.trim() !== '');
  if (own.length === 0) return undefined;
  const lead =
    'This endpoint joins several servers. A name that begins with a server\'s name and "__" is that server\'s.';
  let whole = lead;
  for (const { server, text } of own) {
    const section = `\n\n# ${server}\n\nIts tools and prompts begin with "${server}__".\n\n${capped(demoted(text), MAX_PART)}`;
    if (whole.length + section.length > MAX_WHOLE) return `${whole}\n\n(Instructions of further servers are left out.)`;
    whole += section;
  }
  return whole;
}

/** Our headings are the only ones of the first level. */
function demoted(text: string): string {
  return text.trim().replace(/^# /gm, '## ');
}

function capped(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max)} […]`;
}
