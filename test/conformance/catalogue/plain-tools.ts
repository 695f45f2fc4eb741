// Fixture tools that never ask: content kinds, progress, logs, errors, schemas, changing lists. The names are the
// suite's own (conformance.md §4). The first one listed is called with `{}` by http-header-validation, so it takes none.

import { setTimeout as delay } from 'node:timers/promises';
import { NO_ARGUMENTS, PNG, type ToolDefinition, text, WAV } from './catalogue.ts';

const image = { type: 'image', data: PNG, mimeType: 'image/png' };

const content: readonly ToolDefinition[] = [
  {
    name: 'test_simple_text',
    description: 'Answers with one text block.',
    inputSchema: NO_ARGUMENTS,
    run: async () => text('This is a simple text response for testing.'),
  },
  {
    name: 'test_image_content',
    description: 'Answers with a picture.',
    inputSchema: NO_ARGUMENTS,
    run: async () => ({ content: [image] }),
  },
  {
    name: 'test_audio_content',
    description: 'Answers with a sound.',
    inputSchema: NO_ARGUMENTS,
    run: async () => ({ content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }] }),
  },
  {
    name: 'test_embedded_resource',
    description: 'Answers with a resource inside.',
    inputSchema: NO_ARGUMENTS,
    run: async () => ({
      content: [
        {
          type: 'resource',
          resource: {
            uri: 'test://embedded-resource',
            mimeType: 'text/plain',
            text: 'This is an embedded resource content.',
          },
        },
      ],
    }),
  },
  {
    name: 'test_multiple_content_types',
    description: 'Answers with text, a picture and a resource.',
    inputSchema: NO_ARGUMENTS,
    run: async () => ({
      content: [
        { type: 'text', text: 'Multiple content types test:' },
        image,
        {
          type: 'resource',
          resource: {
            uri: 'test://mixed-content-resource',
            mimeType: 'application/json',
            text: '{"test":"data","value":123}',
          },
        },
      ],
    }),
  },
  {
    name: 'test_error_handling',
    description: 'Always fails.',
    inputSchema: NO_ARGUMENTS,
    run: async () => ({ ...text('This tool intentionally returns an error for testing'), isError: true }),
  },
];

const telling: readonly ToolDefinition[] = [
  {
    name: 'test_tool_with_progress',
    description: 'Reports progress three times when a token was given.',
    inputSchema: NO_ARGUMENTS,
    async run(call) {
      for (const value of [0, 50, 100]) {
        await call.progress(value, 100);
        if (value < 100) await delay(50);
      }
      return text(String(call.progressToken ?? 'no token'));
    },
  },
  {
    name: 'test_tool_with_logging',
    description: 'Logs three times.',
    inputSchema: NO_ARGUMENTS,
    async run(call) {
      await call.log('info', 'Tool execution started');
      await delay(50);
      await call.log('info', 'Tool processing data');
      await delay(50);
      await call.log('info', 'Tool execution completed');
      return text('Tool with logging executed successfully');
    },
  },
  {
    name: 'test_logging_tool',
    description: 'Logs once; without a level the caller must not see it.',
    inputSchema: NO_ARGUMENTS,
    async run(call) {
      await call.log('info', 'only for callers that asked');
      return text('logged');
    },
  },
  {
    name: 'test_streaming_elicitation',
    description: 'Answers without asking: the stream must carry no request.',
    inputSchema: NO_ARGUMENTS,
    run: async () => text('nothing but the result'),
  },
  {
    name: 'test_reconnection',
    description: 'Drops the stream in the middle and answers to the one that comes back.',
    inputSchema: NO_ARGUMENTS,
    async run(call) {
      call.dropStream();
      await delay(100);
      return text('Reconnection test completed successfully');
    },
  },
  {
    name: 'test_trigger_tool_change',
    description: 'Changes the list of tools.',
    inputSchema: NO_ARGUMENTS,
    async run(call) {
      await call.changed('tools');
      return text('tools changed');
    },
  },
  {
    name: 'test_trigger_prompt_change',
    description: 'Changes the list of prompts.',
    inputSchema: NO_ARGUMENTS,
    async run(call) {
      await call.changed('prompts');
      return text('prompts changed');
    },
  },
];

const schemas: readonly ToolDefinition[] = [
  {
    name: 'test_x_mcp_header',
    description: 'Has an argument that travels in a header, too.',
    inputSchema: {
      type: 'object',
      properties: { region: { type: 'string', 'x-mcp-header': 'Region' }, level: { type: 'integer' } },
    },
    run: async (call) => text(`region=${String(call.args.region ?? 'none')}`),
  },
  {
    name: 'json_schema_2020_12_tool',
    description: 'Carries the keywords of JSON Schema 2020-12.',
    inputSchema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: {
        address: {
          $anchor: 'addressDef',
          type: 'object',
          properties: { street: { type: 'string' }, city: { type: 'string' } },
        },
      },
      properties: {
        name: { type: 'string' },
        address: { $ref: '#/$defs/address' },
        contactMethod: { type: 'string', enum: ['phone', 'email'] },
        phone: { type: 'string' },
        email: { type: 'string' },
      },
      allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
      if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
      // biome-ignore lint/suspicious/noThenProperty: a JSON Schema keyword; nobody awaits this object.
      then: { required: ['phone'] },
      else: { required: ['email'] },
      additionalProperties: false,
    },
    run: async (call) => text(JSON.stringify(call.args)),
  },
];

export const PLAIN_TOOLS: readonly ToolDefinition[] = [...content, ...telling, ...schemas];
