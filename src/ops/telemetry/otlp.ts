/** The export over OTLP/HTTP: one trace per turn with its attempts and subagents, no matter which nodes ran them. */
import { createHash, randomBytes } from 'node:crypto';
import {
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Tracer,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from '@opentelemetry/sdk-trace';
import { toGatewayError } from '../../protocol/errors.ts';
import type { Log } from '../../protocol/log.ts';
import type { TracedSubagent } from '../../protocol/agent/subagents.ts';
import { stripEnd } from '../../lib/text.ts';
import {
  eventOf,
  innerSpans,
  type NewSpan,
  type SpanIds,
  spansOf,
  type Telemetry,
  type TelemetryTarget,
} from './spans.ts';

/** Spans that wait to be sent; further ones are dropped, so that an unreachable collector costs little. */
const MAX_WAITING_SPANS = 2_048;
/** Pause between two requests, and the longest duration of one, in milliseconds. */
const SEND_EVERY_MS = 1_000;
const SEND_MS = 5_000;
/** An unreachable collector is logged at most this often, in milliseconds. */
const REPORTED_EVERY_MS = 60_000;

/** Opens the export. Never throws. */
export function openExport(target: TelemetryTarget, log: Log): Telemetry {
  const { endpoint, headers, version } = target;
  const url = `${stripEnd(endpoint, '/')}/v1/traces`;
  const exporter = withFailureLog(
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
  const addAll = (make: () => NewSpan[]): void => {
    try {
      for (const span of make()) {
        next = span.ids;
        record(tracer, span);
      }
    } catch (error) {
      log.warn({ err: toGatewayError(error) }, 'spans_not_made');
    }
  };
  return {
    ended: (traced) => addAll(() => spansOf(traced, target, idsOf(traced.turnId), newSpanId)),
    subagentEnded: (traced) => addAll(() => spansOfSubagent(traced, target, idsOf(traced.turnId))),
    close: () => provider.shutdown().catch((error: unknown) => log.warn({ err: error }, 'spans_not_sent')),
  };
}

/** Records a span that has ended already. */
function record(tracer: Tracer, span: NewSpan): void {
  const { ids, parentId, name, kind, startMs, endMs, attributes, error, events = [], links = [] } = span;
  const parent =
    parentId === undefined
      ? ROOT_CONTEXT
      : trace.setSpanContext(ROOT_CONTEXT, contextOf({ traceId: ids.traceId, spanId: parentId }));
  const linked = links.map((to) => ({ context: contextOf(to) }));
  const recorded = tracer.startSpan(name, { kind, startTime: startMs, attributes, links: linked }, parent);
  for (const event of events) recorded.addEvent(event.name, event.attributes, event.atMs);
  if (error !== undefined) recorded.setStatus({ code: SpanStatusCode.ERROR, message: error });
  recorded.end(endMs);
}

/** The trace and the root span of a turn: digests of its id. */
function idsOf(turnId: string): SpanIds {
  const digest = createHash('sha256').update(`turn ${turnId}`).digest('hex');
  return { traceId: digest.slice(0, 32), spanId: digest.slice(32, 48) };
}

/** The trace of a subagent in the background: a digest of its id, so that all its runs are in one. */
function backgroundTraceOf({ agentId }: TracedSubagent): string {
  return createHash('sha256').update(`agent ${agentId}`).digest('hex').slice(0, 32);
}

function contextOf({ traceId, spanId }: SpanIds): SpanContext {
  return { traceId, spanId, traceFlags: TraceFlags.SAMPLED };
}

function newSpanId(): string {
  return randomBytes(8).toString('hex');
}

/** The exporter, with an occasional log line when it fails. */
function withFailureLog(exporter: SpanExporter, log: Log): SpanExporter {
  let reportedAt = -REPORTED_EVERY_MS;
  return {
    export(spans, callback) {
      exporter.export(spans, (result) => {
        const now = performance.now();
        if (result.error !== undefined && now - reportedAt >= REPORTED_EVERY_MS) {
          reportedAt = now;
          log.warn({ err: result.error, spans: spans.length }, 'spans_not_sent');
        }
        callback(result);
      });
    },
    shutdown: () => exporter.shutdown(),
    ...(exporter.forceFlush !== undefined && {
      forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
    }),
  };
}

/**
 * The spans of one run. A subagent that its turn waits for is a child of the turn's span; one in the background may end
 * days later, so it has its own trace with a link to that span.
 */
function spansOfSubagent(traced: TracedSubagent, target: TelemetryTarget, turn: SpanIds): NewSpan[] {
  const { agentId, turnId, sessionKey, attempt, startedAt } = traced;
  const { profile, outcome, node, epoch, ms, spans } = attempt;
  const ids = { traceId: traced.background ? backgroundTraceOf(traced) : turn.traceId, spanId: newSpanId() };
  const isFailed = outcome === 'failed';
  const run: NewSpan = {
    ids,
    links: traced.background ? [turn] : [],
    parentId: traced.background ? undefined : turn.spanId,
    name: `invoke_agent ${profile}`,
    kind: SpanKind.INTERNAL,
    startMs: startedAt,
    endMs: startedAt + ms,
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': profile,
      'gen_ai.conversation.id': sessionKey,
      'parley.turn.id': turnId,
      'parley.agent.id': agentId,
      'parley.node.id': node,
      'parley.lane.epoch': epoch,
      'parley.outcome': outcome,
      ...(isFailed && { 'error.type': outcome }),
    },
    error: isFailed ? outcome : undefined,
    events: spans.flatMap((span) => eventOf(span, startedAt)),
  };
  return [run, ...innerSpans(traced, target, ids, newSpanId)];
}
