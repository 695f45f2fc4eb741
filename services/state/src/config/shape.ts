// The YAML's own shape once it has been validated and defaults are filled in. The schema is the truth; a test loads one
// file with everything in it.

import type { Ask, HttpSpec, Limits, PoolSettings, StdioSpec } from '@lockkeeper/protocol/config/settings';
import type { Isolation } from '@lockkeeper/protocol/link/keys';

export interface ServerShape {
  readonly name: string;
  readonly tenant: string;
  readonly stdio?: StdioSpec;
  readonly http?: HttpSpec & { readonly credential?: string };
  readonly isolation: Isolation;
  readonly keepsNothing: boolean;
  readonly ask?: { readonly roots?: Ask; readonly sampling?: Ask; readonly elicitation?: Ask };
  readonly roots?: readonly { readonly uri: string; readonly name?: string }[];
  readonly pool: PoolSettings;
  readonly era: 'auto' | 'legacy' | 'modern';
  readonly startTimeoutMs: number;
  readonly callTimeoutMs: number;
  readonly promoteAfterMs?: number;
}

export interface IssuerShape {
  readonly issuer: string;
  readonly jwksFile?: string;
  readonly jwksUri?: string;
  readonly tenants: readonly string[];
  readonly claims: {
    readonly subject: string;
    readonly tenant?: string;
    readonly groups: string;
    readonly client: string;
  };
  readonly audience?: string;
  readonly algorithms: readonly string[];
  readonly clients?: readonly string[];
  readonly scopes?: readonly string[];
}

export interface ConfigShape {
  readonly listen: {
    readonly host: string;
    readonly port: number;
    readonly adminHost: string;
    readonly adminPort: number;
    readonly allowedHosts: readonly string[];
    readonly allowedOrigins: readonly string[];
    readonly trustProxy: boolean;
    readonly adminToken?: string;
  };
  readonly publicBaseUrl?: string;
  readonly state: string;
  readonly auth: { readonly mode: 'jwt' | 'open'; readonly issuers?: readonly IssuerShape[] };
  readonly tenants: readonly {
    readonly name: string;
    readonly credentials?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  }[];
  readonly servers: readonly ServerShape[];
  readonly policy: readonly {
    readonly name?: string;
    readonly tenant: string;
    readonly groups: readonly string[];
    readonly allow: readonly {
      readonly server: string;
      readonly tools: readonly string[];
      readonly prompts: readonly string[];
      readonly resources: readonly string[];
    }[];
  }[];
  readonly routes: readonly {
    readonly path: string;
    readonly tenant: string;
    readonly server?: string;
    readonly servers?: readonly string[];
    readonly revisions: readonly string[];
    readonly sse: boolean;
    readonly tasks: boolean;
    readonly legacyTasks: boolean;
    readonly promoteAfterMs?: number;
    readonly closeStreamsAfterMs: number;
  }[];
  readonly limits: Omit<Limits, 'drainHumanMs'> & { readonly drainHumanMs?: number };
  readonly link: {
    readonly host: string;
    readonly port: number;
    readonly advertise?: string;
    readonly socketDir?: string;
    readonly adminPort: number;
    readonly secret?: string;
  };
  readonly seal?: {
    readonly keys: readonly { readonly kid: string; readonly key: string }[];
    readonly sealWith?: string;
  };
  readonly log: { readonly level: string };
  readonly children: { readonly cgroup: string };
}
