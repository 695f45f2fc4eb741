// What must not be read in a child's words (auth-security RD-4, I-14): the secrets of its spec, and whatever looks like a
// credential. The patterns are linear in time, and the text is short. The second line, after never logging them at all.

const HIDDEN = '[redacted]';
const SECRET_NAME =
  /token|secret|passw|pwd|credential|auth|cookie|dsn|private|(?:^|_)(?:api|access|signing|encryption)?_?key(?:_|$)/i;
const LOOKS_RANDOM = /^(?=.*\d)(?=.*[A-Za-z])[\w+/=.~:-]{16,}$/;

const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [A-Z ]{0,40}-----[^-]*(?:-----END [A-Z ]{0,40}-----)?/g, HIDDEN],
  [/\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?/g, HIDDEN],
  [/\b(bearer|basic)\s+[\w.~+/=-]{6,}/gi, `$1 ${HIDDEN}`],
  [/(:\/\/)[^\s/@"']{1,512}@/g, `$1${HIDDEN}@`],
  [
    /\b(?:AKIA|ASIA)[0-9A-Z]{12,}|\bgh[opsur]_\w{16,}|\bgithub_pat_\w{16,}|\bsk-[\w-]{16,}|\bxox[a-z]-[\w-]{8,}/g,
    HIDDEN,
  ],
  [
    /\b((?:[\w-]{0,40}(?:token|secret|password|passwd|api[_-]?key|access[_-]?key)|authorization|cookie)["']?\s{0,4}[:=]\s{0,4}["']?)[^\s"',;&]{3,}/gi,
    `$1${HIDDEN}`,
  ],
];

export interface Redactor {
  redact(text: string): string;
  /** Length of the longest secret known: a text cut at both ends may show that much of one. */
  readonly longest: number;
}

export function createRedactor(env: Readonly<Record<string, string>>): Redactor {
  const secrets = Object.entries(env)
    .filter(([name, value]) => isSecret(name, value))
    // A key that is printed line by line is as secret as the whole.
    .flatMap(([, value]) => [value, ...value.split('\n').filter((line) => line.length >= 8)])
    .sort((a, b) => b.length - a.length);
  return {
    longest: secrets[0]?.length ?? 0,
    redact(text) {
      let out = text;
      for (const secret of secrets) out = out.replaceAll(secret, HIDDEN);
      for (const [pattern, by] of PATTERNS) out = out.replace(pattern, by);
      return out;
    },
  };
}

function isSecret(name: string, value: string): boolean {
  if (SECRET_NAME.test(name)) return value.length >= 4;
  return LOOKS_RANDOM.test(value) && !/^(?:\.{0,2}\/|[a-z]:)/i.test(value);
}

/** Terminal escapes and the like made harmless; line ends and tabs stay (auth-security I-14, T-61). */
export function escapeControls(text: string): string {
  return text.replace(CONTROLS, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

// Control characters but \t and \n, line and paragraph separators, and marks that turn the direction of writing.
const CONTROLS = /[^\P{Cc}\t\n]|\p{Zl}|\p{Zp}|\p{Bidi_Control}|\uFEFF/gu;
