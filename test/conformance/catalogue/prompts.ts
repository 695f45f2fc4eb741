// Fixture prompts and what completion answers for them (conformance.md §4).

import { elicit, type Json, PNG, type PromptDefinition } from './catalogue.ts';

function says(...content: readonly Json[]): Json {
  return { messages: content.map((block) => ({ role: 'user', content: block })) };
}

export const PROMPTS: readonly PromptDefinition[] = [
  {
    name: 'test_simple_prompt',
    description: 'One sentence.',
    get: async () => says({ type: 'text', text: 'This is a simple prompt for testing.' }),
  },
  {
    name: 'test_prompt_with_arguments',
    description: 'Puts two arguments into a sentence.',
    arguments: [
      { name: 'arg1', description: 'first', required: true },
      { name: 'arg2', description: 'second', required: true },
    ],
    get: async ({ args }) =>
      says({
        type: 'text',
        text: `Prompt with arguments: arg1='${String(args.arg1)}', arg2='${String(args.arg2)}'`,
      }),
  },
  {
    name: 'test_prompt_with_embedded_resource',
    description: 'Carries the named resource.',
    arguments: [{ name: 'resourceUri', description: 'which', required: true }],
    get: async ({ args }) =>
      says(
        {
          type: 'resource',
          resource: {
            uri: String(args.resourceUri),
            mimeType: 'text/plain',
            text: 'Embedded resource content for testing.',
          },
        },
        { type: 'text', text: 'Please process the embedded resource above.' },
      ),
  },
  {
    name: 'test_prompt_with_image',
    description: 'Carries a picture.',
    get: async () =>
      says(
        { type: 'image', data: PNG, mimeType: 'image/png' },
        { type: 'text', text: 'Please analyze the image above.' },
      ),
  },
  {
    name: 'test_input_required_result_prompt',
    description: 'Asks before it answers.',
    async get(call) {
      const { context } = await call.ask({
        context: elicit('What context should the prompt use?', { context: { type: 'string' } }),
      });
      return says({ type: 'text', text: `Use this: ${JSON.stringify(context!.content ?? null)}` });
    },
  },
];

const WORDS = ['paris', 'park', 'party'];

export function complete(params: Json): Json {
  const argument = params.argument as { value?: string } | undefined;
  const values = WORDS.filter((word) => word.startsWith(argument?.value ?? ''));
  return { completion: { values, total: values.length, hasMore: false } };
}
