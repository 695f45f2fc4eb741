// Trace context with an OpenTelemetry provider registered (design §9): the exchange is a span, its context goes on.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Context, type Span, type SpanOptions, type Tracer, type TracerProvider, trace } from '@opentelemetry/api';
import { createTracing } from '../../src/observe/trace.ts';

interface Made {
  readonly name: string;
  readonly parent: string | undefined;
  readonly attributes: SpanOptions['attributes'];
  ended: boolean;
  failed: boolean;
}
const made: Made[] = [];
const SPAN = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'aaaaaaaaaaaaaaaa', traceFlags: 1 };

const tracer = {
  startSpan(name: string, options: SpanOptions, context: Context): Span {
    const record: Made = {
      name,
      parent: trace.getSpanContext(context)?.spanId,
      attributes: options.attributes,
      ended: false,
      failed: false,
    };
    made.push(record);
    const span = {
      isRecording: () => true,
      spanContext: () => SPAN,
      setAttribute: () => span,
      setStatus: () => {
        record.failed = true;
        return span;
      },
      end: () => {
        record.ended = true;
      },
    };
    return span as unknown as Span;
  },
} as unknown as Tracer;

before(() => {
  trace.setGlobalTracerProvider({ getTracer: () => tracer } as TracerProvider);
});
after(() => trace.disable());

const PARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

test("the span hangs on the caller's and hands on its own context, with state and baggage untouched", () => {
  const span = createTracing().begin({ traceparent: PARENT, tracestate: 'a=b', baggage: 'k=v' }, 'mcp tools/call', {
    'lockkeeper.exchange': 'x',
  });
  assert.deepEqual(span.trace, {
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-aaaaaaaaaaaaaaaa-01',
    tracestate: 'a=b',
    baggage: 'k=v',
  });
  span.end('timeout', true);
  assert.deepEqual(made.at(-1), {
    name: 'mcp tools/call',
    parent: 'b7ad6b7169203331',
    attributes: { 'lockkeeper.exchange': 'x' },
    ended: true,
    failed: true,
  });
});

test("without a caller's context the trace begins here", () => {
  const span = createTracing().begin({}, 'mcp tools/list', {});
  assert.deepEqual(span.trace, { traceparent: '00-0af7651916cd43dd8448eb211c80319c-aaaaaaaaaaaaaaaa-01' });
  assert.equal(made.at(-1)?.parent, undefined);
});
