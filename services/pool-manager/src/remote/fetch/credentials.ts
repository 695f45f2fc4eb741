// Whose credentials a request carries. Today those of the configuration, the same for everyone; sign-in of each user
// upstream (auth-security §1.5.4) takes this place, by session, without the door or the transports knowing.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';

export interface Credentials {
  /** Headers that are added to a request; asked for each one, kept by nobody (UP-3). */
  headersFor(): Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>;
}

export interface CredentialSource {
  /** `session`: of one person's connection; absent: for what the node asks for itself. */
  of(spec: ServerSpec, session: string | undefined): Credentials;
}

export const STATIC_CREDENTIALS: CredentialSource = {
  of: (spec) => ({ headersFor: () => spec.http?.headers ?? {} }),
};
