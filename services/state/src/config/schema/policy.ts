// Who may use what. Nothing is allowed that no rule allows (design §7).

import { serverName, tenantName } from './names.ts';
import { group, list, text } from './node.ts';

const patterns = (what: string) =>
  list(`${what} \`*\` stands for any text. Absent: none.`, text('A name, or a pattern with `*`.'), {
    default: [],
    uniqueItems: true,
    examples: [['*']],
  });

const ALLOW = group(
  'What is allowed at one server.',
  {
    server: serverName('A server of the rule’s tenant.'),
    tools: patterns('Tools, by the name that the server gives them.'),
    prompts: patterns('Prompts, by the name that the server gives them.'),
    resources: patterns('Resources, by URI.'),
  },
  { required: ['server'] },
);

export const POLICY = list(
  'Who may use what. Without a rule nothing is allowed in `jwt` mode; in `open` mode everything is.',
  group(
    'One rule: members of any of the groups may use what is listed.',
    {
      name: text('For audit rows. Default: its place, `policy[0]`.', { maxLength: 100 }),
      tenant: tenantName('The tenant it is for.'),
      groups: list(
        'Groups, as tokens name them.',
        text('A group.', { pattern: '^(?!\\*$)', errorMessage: 'name the groups; there is none that means everyone' }),
        { minItems: 1, uniqueItems: true },
      ),
      allow: list('What they may use.', ALLOW, { minItems: 1 }),
    },
    { required: ['tenant', 'groups', 'allow'] },
  ),
  { default: [] },
);
