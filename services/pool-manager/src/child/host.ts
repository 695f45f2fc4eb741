// What children may know of the machine: where programs are, language, time zone. Nothing else of our environment.

import type { ChildHost } from './environment.ts';

export function hostOf(env: Readonly<Record<string, string | undefined>>): Omit<ChildHost, 'tmpDir'> {
  const { PATH, LANG, TZ } = env;
  return {
    path: PATH ?? '/usr/local/bin:/usr/bin:/bin',
    ...(LANG === undefined ? {} : { lang: LANG }),
    ...(TZ === undefined ? {} : { tz: TZ }),
  };
}
