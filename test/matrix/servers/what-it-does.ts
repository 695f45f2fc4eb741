// What both servers of the matrix do, free of any SDK: the questions they ask, the tools they list. One table for both
// eras, so that a difference in a cell is Lockkeeper's.

export type Json = Readonly<Record<string, unknown>>;

export interface Question {
  readonly method: 'elicitation/create' | 'sampling/createMessage' | 'roots/list';
  readonly params: Json;
}

export const FORM = {
  type: 'object',
  properties: { colour: { type: 'string', minLength: 2 }, size: { type: 'integer', maximum: 9007199254740991 } },
  required: ['colour'],
};
export const LINK = 'https://sign-in.example/start?state=%7E%2F&n=1#here';

/** Tools that ask one thing and give back what they were told, as JSON. */
export const QUESTIONS: Readonly<Record<string, Question>> = {
  form: { method: 'elicitation/create', params: { mode: 'form', message: 'Which one?', requestedSchema: FORM } },
  url: { method: 'elicitation/create', params: { mode: 'url', message: 'Sign in', url: LINK } },
  sampling: {
    method: 'sampling/createMessage',
    params: {
      messages: [{ role: 'user', content: { type: 'text', text: 'Two and two?' } }],
      includeContext: 'thisServer',
      systemPrompt: 'Be brief.',
      maxTokens: 17,
    },
  },
  roots: { method: 'roots/list', params: {} },
};

export const TOOLS = [...Object.keys(QUESTIONS), 'progress', 'log', 'wait', 'grow', 'touch'];
/** All its resources are below this one; `touch {uri}` says that one has changed. */
export const NOTE = 'note://a';
