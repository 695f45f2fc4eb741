// What a child sees of the world (auth-security I-10). Built from nothing: what is not named here or in the server's own
// spec does not reach it, so there is no list of variables to deny. What the spec states wins, even over these.

export interface ChildHost {
  readonly path: string;
  readonly lang?: string;
  readonly tz?: string;
  /** Where private directories are made. */
  readonly tmpDir: string;
}

/** Names the child and its manager to the sweep, in the child's whole offspring (GB-015). */
export const MARK = 'LOCKKEEPER_CHILD';

export function childEnvironment(
  host: ChildHost,
  stated: Readonly<Record<string, string>>,
  home: string,
  mark: string,
): Record<string, string> {
  return {
    PATH: host.path,
    HOME: home,
    TMPDIR: home,
    LANG: host.lang ?? 'C.UTF-8',
    TZ: host.tz ?? 'UTC',
    ...stated,
    [MARK]: mark,
  };
}
