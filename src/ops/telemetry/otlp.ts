/** The export over OTLP/HTTP: attempts of turns as spans of one trace per turn, no matter which nodes ran them. */
import { createHash, randomBytes } from 'node:crypto';
import { ROOT_CONTEXT, SpanStatusCode, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import { toGatewayError } from '../../contracts/errors.ts';
import type { Log } from '../../contracts/log.ts';
import type { TracedTurn } from '../../contracts/store/traces.ts';
import { stripEnd } from '../../lib/text.ts';
import type { Telemetry, TelemetryTarget } from './target.ts';
import { spansOf } from './spans.ts';
import type { NewSpan, SpanIds } from './spans.ts';

/** Spans that wait to be sent; further ones are dropped, so that an unreachable collector costs little. */
const MAX_WAITING_SPANS = 2_048;
/** Pause between two requests, and the longest duration of one, in milliseconds. */
const SEND_EVERY_MS = 1_000;
const SEND_MS = 5_000;
/** An unreachable collector is logged at most this often, in milliseconds. */
const TOLD_EVERY_MS = 60_000;

/** Opens the export. Never throws. */
export function openExport(target: TelemetryTarget, log: Log): Telemetry {
  const { endpoint, headers, version } = target;
  const url = `${stripEnd(endpoint, '/')}/v1/traces`;
  const exporter = toldOf(
    new OTLPTraceExporter({ url, headers: { ...headers }, timeoutMillis: SEND_MS }),
    log,
  );
  let next: SpanIds = { traceId: '', spanId: '' };
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'parley', 'service.version': version }),
    // Ids are derived from the turn, so that it has the same trace on every node and after every restart.
    idGenerator: { generateTraceId: () => next.traceId, generateSpanId: () => next.spanId },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter,
        maxQueueSize: MAX_WAITING_SPANS,
        scheduledDelayMillis: SEND_EVERY_MS,
        exportTimeoutMillis: SEND_MS,
      }),
    ],
  });
  const tracer = provider.getTracer('parley', version);
  const add = ({
    ids,
    parentId,
    name,
    kind,
    startMs,
    endMs,
    attributes,
    error,
    events = [],
  }: NewSpan): void => {
    next = ids;
    const parent =
      parentId === undefined
        ? ROOT_CONTEXT
        : trace.setSpanContext(ROOT_CONTEXT, { traceId: ids.traceId, spanId: parentId, traceFlags: 1 });
    const span = tracer.startSpan(name, { kind, startTime: startMs, attributes }, parent);
    for (const event of events) span.addEvent(event.name, event.attributes, event.atMs);
    if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: error });
    span.end(endMs);
  };
  return {
    turn(traced) {
      try {
        for (const span of spansOf(traced, target, { root: idsOf(traced), newSpanId })) add(span);
      } catch (error) {
        log.warn({ err: toGatewayError(error) }, 'spans_not_made');
      }
    },
    close: () => provider.shutdown().catch((error: unknown) => log.warn({ err: error }, 'spans_not_sent')),
  };
}

/** The trace and the root span of a turn: digests of its id. */
function idsOf({ turnId }: TracedTurn): SpanIds {
  const digest = createHash('sha256').update(`turn ${turnId}`).digest('hex');
  return { traceId: digest.slice(0, 32), spanId: digest.slice(32, 48) };
}

function newSpanId(): string {
  return randomBytes(8).toString('hex');
}

/** The exporter, with an occasional log line when it fails. */
function toldOf(exporter: SpanExporter, log: Log): SpanExporter {
  let toldAt = -TOLD_EVERY_MS;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const now = performance.now();
        if (result.error !== undefined && now - toldAt >= TOLD_EVERY_MS) {
          toldAt = now;
          log.warn({ err: result.error, spans: spans.length }, 'spans_not_sent');
        }
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
    ...(exporter.forceFlush !== undefined && {
      forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
    }),
  };
}
