// Fixture tools that ask the client something, in one round or several. Written once: a legacy adapter asks on the wire,
// a modern one ends the round with `input_required` (conformance.md §4, both lists of names).

import {
  type Call,
  elicit,
  type Json,
  NO_ARGUMENTS,
  type Question,
  ROOTS,
  sample,
  type ToolDefinition,
  text,
} from './catalogue.ts';

const NAME = { name: { type: 'string' } };
const OK = { ok: { type: 'boolean' } };
const DEFAULTS = {
  name: { type: 'string', description: 'a name', default: 'John Doe' },
  age: { type: 'integer', description: 'an age', default: 30 },
  score: { type: 'number', description: 'a score', default: 95.5 },
  status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
  verified: { type: 'boolean', default: true },
};
const titled = (words: readonly string[]) => words.map((title, i) => ({ const: `value${i + 1}`, title }));
const ENUMS = {
  untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
  titledSingle: { type: 'string', oneOf: titled(['First Option', 'Second Option', 'Third Option']) },
  legacyEnum: {
    type: 'string',
    enum: ['opt1', 'opt2', 'opt3'],
    enumNames: ['Option One', 'Option Two', 'Option Three'],
  },
  untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
  titledMulti: { type: 'array', items: { anyOf: titled(['First Choice', 'Second Choice', 'Third Choice']) } },
};

function said(answer: Json): string {
  return `action=${String(answer.action)}, content=${JSON.stringify(answer.content ?? null)}`;
}

function heard(answer: Json): string {
  const block = answer.content as { text?: string } | { text?: string }[];
  return (Array.isArray(block) ? block[0]?.text : block.text) ?? '';
}

/** A tool that asks one set of questions and tells what came back. */
function asks(
  name: string,
  questions: (call: Call) => Readonly<Record<string, Question>>,
  tell: (answers: Readonly<Record<string, Json>>) => string,
  more: Partial<ToolDefinition> = {},
): ToolDefinition {
  return {
    name,
    description: `Asks, then answers (${name.replace('test_', '').replaceAll('_', ' ')}).`,
    inputSchema: NO_ARGUMENTS,
    run: async (call) => text(tell(await call.ask(questions(call)))),
    ...more,
  };
}

const oneString = (name: string): Partial<ToolDefinition> => ({
  inputSchema: { type: 'object', properties: { [name]: { type: 'string' } }, required: [name] },
});

const pushed: readonly ToolDefinition[] = [
  asks(
    'test_sampling',
    (call) => ({ sample: sample(String(call.args.prompt)) }),
    (answers) => `LLM response: ${heard(answers.sample!)}`,
    oneString('prompt'),
  ),
  asks(
    'test_elicitation',
    (call) => ({
      user: elicit(
        String(call.args.message),
        {
          username: { type: 'string', description: "User's response" },
          email: { type: 'string', description: "User's email address" },
        },
        ['username', 'email'],
      ),
    }),
    (answers) => `User response: ${said(answers.user!)}`,
    oneString('message'),
  ),
  asks(
    'test_elicitation_sep1034_defaults',
    () => ({ form: elicit('Please fill in', DEFAULTS) }),
    (answers) => `Elicitation completed: ${said(answers.form!)}`,
  ),
  asks(
    'test_elicitation_sep1330_enums',
    () => ({ form: elicit('Please choose', ENUMS) }),
    (answers) => `Elicitation completed: ${said(answers.form!)}`,
  ),
];

const rounds: readonly ToolDefinition[] = [
  asks(
    'test_input_required_result_elicitation',
    () => ({ user_name: elicit('What is your name?', NAME, ['name']) }),
    (answers) => `Hello, ${said(answers.user_name!)}`,
  ),
  asks(
    'test_input_required_result_sampling',
    () => ({ capital_question: sample('What is the capital of France?') }),
    (answers) => heard(answers.capital_question!),
  ),
  asks(
    'test_input_required_result_list_roots',
    () => ({ client_roots: ROOTS }),
    (answers) => JSON.stringify(answers.client_roots!.roots),
  ),
  asks(
    'test_input_required_result_request_state',
    () => ({ confirm: elicit('Please confirm', OK) }),
    () => 'state-ok',
    { stateful: true },
  ),
  asks(
    'test_input_required_result_tampered_state',
    () => ({ confirm: elicit('Please confirm', OK) }),
    () => 'state-ok',
    { stateful: true },
  ),
  asks(
    'test_input_required_result_multiple_inputs',
    () => ({ user_name: elicit('What is your name?', NAME), greeting: sample('Greet'), client_roots: ROOTS }),
    (answers) => Object.keys(answers).sort().join(', '),
    { stateful: true },
  ),
  {
    name: 'test_input_required_result_multi_round',
    description: 'Asks twice, one after the other.',
    inputSchema: NO_ARGUMENTS,
    stateful: true,
    async run(call) {
      const first = await call.ask({ step1: elicit('Step 1: your name?', NAME) });
      const second = await call.ask({ step2: elicit('Step 2: your colour?', { color: { type: 'string' } }) });
      return text(`${said(first.step1!)} / ${said(second.step2!)}`);
    },
  },
  {
    name: 'test_input_required_result_capabilities',
    description: 'Asks only what the caller said it can answer.',
    inputSchema: NO_ARGUMENTS,
    async run(call) {
      const questions: Record<string, Question> = {};
      if (call.declared.elicitation !== undefined) questions.name = elicit('What is your name?', NAME);
      if (call.declared.sampling !== undefined) questions.word = sample('Say a word');
      if (Object.keys(questions).length === 0) return text('nothing to ask you');
      return text(JSON.stringify(await call.ask(questions)));
    },
  },
  asks(
    'test_missing_capability',
    () => ({ answer: sample('Reply with one word') }),
    (answers) => heard(answers.answer!),
  ),
];

export const ASKING_TOOLS: readonly ToolDefinition[] = [...pushed, ...rounds];
