// Where the gateway listens and by what name the world knows it.

import { count, flag, group, list, text } from './node.ts';

const HOST = {
  maxLength: 255,
  pattern: '^[A-Za-z0-9.:_-]+$',
  errorMessage: 'give a host name or an IP address, without a port',
};

export const LISTEN = group(
  'Where the gateway listens. Changes of host, port, adminHost, adminPort and trustProxy need a restart.',
  {
    host: text('Address for clients. Beyond loopback only with `auth.mode: jwt`.', { ...HOST, default: '127.0.0.1' }),
    port: count('Port for clients; 0 takes a free one.', 0, 65_535, 8080),
    adminHost: text('Address of health and metrics, which are not authenticated.', { ...HOST, default: '127.0.0.1' }),
    adminPort: count('Port of health and metrics; 0 takes a free one.', 0, 65_535, 9090),
    adminToken: text(
      'Whoever shows it (`Authorization: Bearer …`) may restart, drain and evict processes on the admin ports; `npm run pool` does. Absent: nobody may, from nowhere.',
      { minLength: 16, examples: ['${file:/run/secrets/admin-token}'] },
    ),
    allowedHosts: list(
      'Host headers that are answered, beside that of `publicBaseUrl` and, on loopback, the loopback names.',
      text('A host, with its port unless it is the usual one.', {
        pattern: '^[A-Za-z0-9.:_\\[\\]-]+$',
        errorMessage: 'give a host, or host:port, without a scheme or path',
      }),
      { default: [], uniqueItems: true, examples: [['mcp.example.com']] },
    ),
    allowedOrigins: list(
      'Origins of web pages that may call, beside that of `publicBaseUrl`.',
      text('An origin.', {
        pattern: '^[a-z][a-z0-9+.-]*://[^/?#\\s]+$',
        errorMessage: 'give scheme://host or scheme://host:port, without a path',
      }),
      { default: [], uniqueItems: true, examples: [['https://app.example.com']] },
    ),
    trustProxy: flag(
      'Take the client address for logs from X-Forwarded-For. Only behind a proxy that sets it. Never decides what a route is called.',
      false,
    ),
  },
  { default: {} },
);

export const PUBLIC_BASE_URL = text(
  'The URL by which clients reach this gateway; routes are appended. Tokens are made out to it. Default: listen.host and listen.port, on loopback only.',
  {
    pattern: '^https?://[^/?#\\s]+(/[^?#\\s]*)?$',
    errorMessage: 'give an http or https URL without query and fragment',
    examples: ['https://mcp.example.com'],
  },
);
