// W3C trace context (design §9, protocol.md §1.4): taken from HTTP headers and from `_meta`, where `_meta` wins, passed
// on only when well formed. With an OpenTelemetry SDK registered each exchange is a span and its context is what goes
// on; without one the caller's context passes through.

import type { TraceContext } from '@lockkeeper/protocol/link/frames';
import { context, type Span, SpanKind, SpanStatusCode, trace as traceApi } from '@opentelemetry/api';
import type { Headers } from '../http/contract.ts';

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;
const PRINTABLE = /^[\x20-\x7e]*$/;
const MAX_TRACESTATE = 512;
const MAX_BAGGAGE = 8192;

export function traceFromHeaders(headers: Headers): TraceContext {
  if (headers.traceparent === undefined && headers.baggage === undefined) return NO_TRACE;
  return wellFormed({
    traceparent: single(headers.traceparent),
    tracestate: single(headers.tracestate),
    baggage: single(headers.baggage),
  });
}

/** Of the many requests without any. */
export const NO_TRACE: TraceContext = Object.freeze({});

/** `_meta` replaces the headers' context as a whole: two halves of different traces make no trace. */
export function mergeTrace(fromHeaders: TraceContext, fromMeta: TraceContext): TraceContext {
  if (fromMeta === NO_TRACE) return fromHeaders;
  const meta = wellFormed(fromMeta);
  const base = meta.traceparent === undefined ? fromHeaders : meta;
  const baggage = meta.baggage ?? fromHeaders.baggage;
  return {
    ...(base.traceparent === undefined ? {} : { traceparent: base.traceparent }),
    ...(base.tracestate === undefined ? {} : { tracestate: base.tracestate }),
    ...(baggage === undefined ? {} : { baggage }),
  };
}

interface Raw {
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
  readonly baggage?: string | undefined;
}

/** A tracestate without its traceparent says nothing and goes. */
export function wellFormed(raw: Raw): TraceContext {
  const { traceparent, tracestate, baggage } = raw;
  const parent = traceparent !== undefined && TRACEPARENT.test(traceparent) ? traceparent : undefined;
  const state = parent !== undefined && fits(tracestate, MAX_TRACESTATE) ? tracestate : undefined;
  return {
    ...(parent === undefined ? {} : { traceparent: parent }),
    ...(state === undefined ? {} : { tracestate: state }),
    ...(baggage !== undefined && fits(baggage, MAX_BAGGAGE) ? { baggage } : {}),
  };
}

function fits(value: string | undefined, max: number): value is string {
  return value !== undefined && value !== '' && value.length <= max && PRINTABLE.test(value);
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? undefined : value;
}

export interface ExchangeSpan {
  /** What travels on: this span's context when it is recorded, else the caller's. */
  readonly trace: TraceContext;
  end(outcome: string, failed: boolean): void;
}

export interface Tracing {
  begin(trace: TraceContext, name: string, attributes: Record<string, string>): ExchangeSpan;
}

export function createTracing(): Tracing {
  const tracer = traceApi.getTracer('lockkeeper');
  return {
    begin(trace, name, attributes) {
      const span = tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, parentOf(trace));
      if (!span.isRecording()) return { trace, end: () => span.end() };
      return {
        trace: { ...trace, traceparent: contextOf(span) },
        end: (outcome, failed) => finish(span, outcome, failed),
      };
    },
  };
}

function finish(span: Span, outcome: string, failed: boolean): void {
  span.setAttribute('lockkeeper.outcome', outcome);
  if (failed) span.setStatus({ code: SpanStatusCode.ERROR });
  span.end();
}

function parentOf(trace: TraceContext) {
  const parts = trace.traceparent === undefined ? null : TRACEPARENT.exec(trace.traceparent);
  const [, traceId, spanId, flags] = parts ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return context.active();
  const remote = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return traceApi.setSpanContext(context.active(), remote);
}

function contextOf(span: Span): string {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}
