// What does the operator read when a server by URL is configured wrongly?

import { http, type Row, tellFaults, useFolder } from './bad-file.ts';
import { openConfig } from './sample.ts';

const FAR = 'url: "https://mcp.example.com/mcp"';
const credential = (name: string, members: string, more = '') =>
  http(`${FAR}, credential: ${name}${more}`).replace('{ name: acme }', `{ name: acme, credentials: { ${members} } }`);

const ROWS: readonly Row[] = [
  [
    'a server by command and by URL',
    openConfig().replace('[{ name: one', '[§{ name: one').replace('stdio:', `http: { ${FAR} }, stdio:`),
    /^servers\[0\] has too many or too few of its keys: give either stdio \(.*\) or http/,
  ],
  [
    'a server by neither',
    openConfig().replace('[{ name: one', '[§{ name: one').replace(', stdio: { command: node }', ''),
    /give either stdio/,
  ],
  ['a server without its URL', http('').replace('http: {', '§http: {'), /^servers\[0\]\.http\.url is missing/],
  ['a URL that is none', http('url: §mcp.example.com'), /must be a whole URL/],
  ['a URL of another protocol', http('url: §"ftp://mcp.example.com"'), /must be a whole URL/],
  ['a user in a URL', http('url: §"https://me@mcp.example.com/mcp"'), /holds a user or password.*http\.headers/],
  ['a key in a URL', http('url: §"https://mcp.example.com/mcp?api_key=x"'), /seems to hold a secret.*http\.headers/],
  ['a key in a path', http('url: §"https://mcp.example.com/sk-live-123/mcp"'), /seems to hold a secret/],
  ['a fragment in a URL', http('url: §"https://mcp.example.com/mcp#a"'), /ends in a fragment/],
  ['plain http', http('url: §"http://mcp.intern/mcp", cidrs: [10.0.0.0/8]'), /anyone on the way can read.*plain: true/],
  ['plain http to anywhere', http('url: "http://mcp.intern/mcp", plain: §true'), /plain needs cidrs/],
  ['plain with https', http(`${FAR}, plain: §true`), /plain is for http:\/\//],
  [
    'headers that are not the operator’s',
    http(
      `${FAR}, headers: { §Host: a, §Mcp-Session-Id: b, §content-length: "1", §Connection: c, §X-Forwarded-For: d }`,
    ),
    ...Array.from({ length: 5 }, () => /is not yours to set/),
  ],
  ['a header that is none', http(`${FAR}, headers: { §"a b": x }`), /"a b" is no name of a header/],
  ['a header twice', http(`${FAR}, headers: { X-Key: a, §x-key: b }`), /stands here twice, since case does not count/],
  ['a header in two lines', http(`${FAR}, headers: { X-Key: §"a\\nb" }`), /visible ASCII in one line/],
  ['an empty header', http(`${FAR}, headers: { X-Key: §"" }`), /cannot be sent/],
  ['a range that is none', http(`${FAR}, cidrs: [§10.0.0.0, §10.0.0.0/33, §"a/8"]`), /address\/bits/, /as/, /as/],
  ['a range that says nothing', http(`${FAR}, cidrs: [§0.0.0.0/0, §"::/0"]`), /so wide/, /so wide/],
  [
    'a range that no server may have',
    http(`${FAR}, cidrs: [§169.254.0.0/16, §"fe80::/64", §224.0.0.0/8]`),
    ...Array.from({ length: 3 }, () => /no server may lie/),
  ],
  ['an authority that is none', http(`${FAR}, ca: §hello`), /http\.ca holds no certificate/],
  [
    'a transport of the other era',
    http(`${FAR}, transport: §sse`, ', era: modern'),
    /legacy era: take era: modern out/,
  ],
  [
    'a credential that is not there',
    credential('§github', 'gitlab: { X-Key: a }'),
    /no credential "github": add it under credentials of the tenant, or use "gitlab"/,
  ],
  [
    'a credential of a header that is there already',
    credential('§github', 'github: { Authorization: a }', ', headers: { authorization: b }'),
    /is in this credential and in http\.headers/,
  ],
  ['a credential that sets what it may not', credential('github', 'github: { §Mcp-Name: a }'), /not yours to set/],
];

useFolder();
tellFaults(ROWS);
