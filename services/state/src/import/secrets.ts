// Which values look like secrets and so must not be written into a configuration file. A guess that errs towards yes:
// a reference too many costs one environment variable.

const SECRET_NAME =
  /(^|[_-])(key|apikey|token|secret|pass|passwd|password|pwd|credentials?|auth|authorization|pat|private|cookie|dsn)([_-]|$)/i;
const SECRET_COMPOUND = /(apikey|accesskey|secretkey|accesstoken|authtoken|connection_?string|database_url)/i;
/** Prefixes of well-known issuers of tokens. */
const SECRET_START =
  /^(sk-|sk_|pk_|rk_|ghp_|gho_|ghs_|github_pat_|glpat-|xox[abp]-|AKIA|ASIA|AIza|eyJ|ya29\.|hf_|npm_|Bearer )/;
const WITH_PASSWORD = /^[a-z][a-z0-9+.-]*:\/\/[^/\s:@]*:[^/\s@]+@/i;
/** Letters and digits in one long run: what nobody types. */
const RANDOM = /^(?=.*[0-9])(?=.*[A-Za-z])[A-Za-z0-9+/=_-]{32,}$/;

export function looksSecret(name: string, value: string): boolean {
  if (value === '' || /^(true|false|\d{1,5})$/i.test(value)) return false;
  return SECRET_NAME.test(name) || SECRET_COMPOUND.test(name) || valueLooksSecret(value);
}

export function valueLooksSecret(value: string): boolean {
  return SECRET_START.test(value) || WITH_PASSWORD.test(value) || RANDOM.test(value);
}

/** The part of an argument that is its value: all of it, or what follows `--name=`. */
export function argumentParts(argument: string): { head: string; value: string; name: string } {
  const match = /^(--?([A-Za-z][\w-]*)=)(.*)$/s.exec(argument);
  return match === null
    ? { head: '', value: argument, name: '' }
    : { head: match[1] ?? '', name: match[2] ?? '', value: match[3] ?? '' };
}
