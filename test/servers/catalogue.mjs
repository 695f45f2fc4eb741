// No bad habit: a server with tools, prompts, resources, templates and completion, for routes and rewriting. Two of them
// with other NAMEs make an aggregate with colliding names and URIs. Tool `link` answers with a link and an embedded
// resource.
import { ECHO, echo, serve, tool } from './stdio.mjs';

const name = process.env.NAME ?? 'fixture';
const hints = (message) =>
  message.params?._meta?.['io.modelcontextprotocol/protocolVersion'] ? { ttlMs: 0, cacheScope: 'private' } : {};
const resource = { uri: 'memo://notes/1', name: 'note', mimeType: 'text/plain' };
const contents = (uri) => [{ uri, mimeType: 'text/plain', text: `${uri} of ${name}` }];

serve({
  instructions: `Ask ${name} for notes.`,
  capabilities: { prompts: {}, resources: {}, completions: {} },
  tools: [ECHO, tool('link')],
  call(called, args) {
    if (called === 'echo') return echo(called, args);
    const link = { type: 'resource_link', ...resource };
    return { content: [link, { type: 'resource', resource: contents(resource.uri)[0] }] };
  },
  methods: {
    'prompts/list': (_p, message) => ({
      prompts: [{ name: 'greet', arguments: [{ name: 'who', required: true }] }],
      ...hints(message),
    }),
    'prompts/get': (params) => ({
      messages: [{ role: 'user', content: { type: 'text', text: `${name} greets ${params.arguments?.who}` } }],
    }),
    'resources/list': (_p, message) => ({ resources: [resource], ...hints(message) }),
    'resources/templates/list': (_p, message) => ({
      resourceTemplates: [{ uriTemplate: 'memo://notes/{id}', name: 'notes' }],
      ...hints(message),
    }),
    'resources/read': (params, message) => ({ contents: contents(params.uri), ...hints(message) }),
    'completion/complete': () => ({ completion: { values: ['one', 'two'], hasMore: false } }),
  },
});
