// Who may call: the identity providers whose tokens are taken (design §7, auth-security.md RS-15, RS-20).

import { tenantName } from './names.ts';
import { choice, group, list, type SchemaNode, text } from './node.ts';

/** Asymmetric only: a shared secret or `none` would let anyone sign. */
const ALGORITHMS = [
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
];

const claim = (description: string, fallback?: string): SchemaNode =>
  text(`${description} Dots reach into objects.`, fallback === undefined ? {} : { default: fallback });

const ISSUER = group(
  'One identity provider.',
  {
    issuer: text('Its name, exactly as in the `iss` claim.', { examples: ['https://idp.example'] }),
    jwksFile: text('File with its public keys (JWKS), read again when it changes. This or `jwksUri`.', {
      examples: ['./jwks.json'],
    }),
    jwksUri: text('https URL of its public keys (http on loopback). This or `jwksFile`.', {
      pattern: '^https?://[^\\s#]+$',
      errorMessage: 'give an https URL',
    }),
    tenants: list('Tenants it may assert; a token for any other is refused.', tenantName('A name under `tenants`.'), {
      minItems: 1,
      uniqueItems: true,
    }),
    claims: group(
      'Which claims say what.',
      {
        subject: claim('The person.', 'sub'),
        tenant: claim('The tenant. Absent: the issuer has no such claim, and must name exactly one tenant.'),
        groups: claim('The groups that policy speaks of.', 'groups'),
        client: claim('The client program; where a token has none, `azp` is read.', 'client_id'),
      },
      { default: {} },
    ),
    audience: text(
      'What `aud` must contain. Default: the URL of the called route (`…/mcp`, for clients of its `…/sse`, too).',
    ),
    algorithms: list('Signature algorithms that are taken.', choice('A JWS algorithm.', ALGORITHMS), {
      minItems: 1,
      uniqueItems: true,
      default: ['ES256', 'EdDSA', 'RS256', 'PS256'],
    }),
    clients: list('Client programs that may call. Default: every client of this issuer.', text('A client id.'), {
      minItems: 1,
      uniqueItems: true,
    }),
    scopes: list(
      'What clients should ask this issuer for; told in challenges and metadata.',
      text('A scope.', {
        pattern: '^[\\x21\\x23-\\x5B\\x5D-\\x7E]+$',
        errorMessage: 'a scope has no spaces, quotes or backslashes',
      }),
      { uniqueItems: true },
    ),
  },
  {
    required: ['issuer', 'tenants'],
    oneOf: [{ required: ['jwksFile'] }, { required: ['jwksUri'] }],
    errorMessage: 'give either jwksFile or jwksUri',
  },
);

export const AUTH = group(
  'Who may call.',
  {
    mode: choice(
      '`jwt`: tokens of the issuers below. `open`: no tokens, everyone is the one user `anonymous`; on loopback only.',
      ['jwt', 'open'],
    ),
    issuers: list('Identity providers, for `mode: jwt`.', ISSUER, { minItems: 1 }),
  },
  { required: ['mode'] },
);
