/** The runs of subagents in OpenTelemetry: within the trace of their turn, or in a trace of their own that links to it. */
import { SpanKind } from '@opentelemetry/api';
import type { TracedSubagent } from '../../contracts/agent/turn-watch.ts';
import { type CallSource, eventOf, innerSpans, type NewSpan, type SpanIds } from './spans.ts';

/** The ids of the turn's span, and of the trace of a subagent that outlives its turn. */
interface SubagentIds {
  turn: SpanIds;
  background: string;
  newSpanId: () => string;
}

/**
 * The spans of one run: the subagent, and below it its model calls and tools. A subagent that its turn waits for is a
 * child of the turn's span; one in the background may end days later, so it has its own trace with a link to that span.
 */
export function spansOfSubagent(
  traced: TracedSubagent,
  source: CallSource,
  { turn, background, newSpanId }: SubagentIds,
): NewSpan[] {
  const { agentId, turnId, sessionKey, attempt, startedAt } = traced;
  const { profile, outcome, node, epoch, ms, spans } = attempt;
  const ids = { traceId: traced.background ? background : turn.traceId, spanId: newSpanId() };
  const isFailed = outcome === 'failed';
  const own: NewSpan = {
    ids,
    ...(traced.background ? { links: [turn] } : { parentId: turn.spanId }),
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
    ...(isFailed && { error: outcome }),
    events: spans.flatMap((span) => eventOf(span, startedAt)),
  };
  return [own, ...innerSpans(traced, source, { parent: ids, newSpanId })];
}
