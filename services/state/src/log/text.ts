// Foreign text in a line of ours: bounded, and without anything that could forge a line or a terminal (auth-security RD-6).

/** Longest text of one field. */
const MAX_TEXT = 2048;
/** What could forge: controls, line separators, bidi marks. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

export function cleanText(text: string, max = MAX_TEXT): string {
  if (text.length <= max && isPlain(text)) return text;
  return escaped(text.length > max ? `${text.slice(0, max)}…` : text);
}

/** The end is kept: of what a process wrote, the last is what it died of. */
export function cleanTail(text: string, max: number): string {
  return escaped(text.length > max ? `…${text.slice(-max)}` : text);
}

function escaped(text: string): string {
  return text.replace(UNSAFE, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Nothing but printable ASCII: nearly every name is. */
function isPlain(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c < 0x20 || c > 0x7e) return false;
  }
  return true;
}
