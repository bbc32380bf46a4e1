/** The trace of a turn in OpenTelemetry, by its semantic conventions for generative AI. Prompts are in it only if the operator wants them. */
import { type Attributes, SpanKind } from '@opentelemetry/api';
import type { ModelCallSpan, PromptMessage, TraceAttempt, TraceSpan } from '../../protocol/store/traces.ts';
import type { TracedTurn } from '../../protocol/agent/subagents.ts';
import type { TelemetryTarget } from './target.ts';

/** What the spans of model calls need besides the trace. */
export type CallSource = Pick<TelemetryTarget, 'content' | 'serverOf'>;

export interface SpanIds {
  /** 32 and 16 hexadecimal digits. */
  traceId: string;
  spanId: string;
}

/** A finished span. Times are epoch milliseconds. */
export interface NewSpan {
  ids: SpanIds;
  /** Undefined = the root. */
  parentId?: string | undefined;
  name: string;
  kind: SpanKind;
  startMs: number;
  endMs: number;
  attributes: Attributes;
  /** The code of the error that ended it. */
  error?: string | undefined;
  events?: { name: string; atMs: number; attributes: Attributes }[];
  /** Spans of other traces that it belongs to. */
  links?: readonly SpanIds[];
}

/**
 * The spans of an attempt: the attempt with its model calls and tools, and with the last attempt the turn itself,
 * starting when its message was accepted.
 */
export function spansOf(
  traced: TracedTurn,
  source: CallSource,
  { root, newSpanId }: { root: SpanIds; newSpanId: () => string },
): NewSpan[] {
  const { turnId, sessionKey, attempt, startedAt, ended } = traced;
  const { traceId } = root;
  const { outcome, node, epoch, ms, spans, attempts, crashes } = attempt;
  const ids = { traceId, spanId: newSpanId() };
  const endMs = startedAt + ms;
  const common = { 'parley.turn.id': turnId, 'gen_ai.conversation.id': sessionKey };
  const error = outcome === 'failed' ? outcome : undefined;
  const own: NewSpan = {
    ids,
    parentId: root.spanId,
    name: 'attempt',
    kind: SpanKind.INTERNAL,
    startMs: startedAt,
    endMs,
    attributes: {
      ...common,
      'parley.node.id': node,
      'parley.lane.epoch': epoch,
      'parley.outcome': outcome,
      'parley.attempts': attempts,
      'parley.crashes': crashes,
    },
    error,
    events: spans.flatMap((span) => eventOf(span, startedAt)),
  };
  const inner = innerSpans(traced, source, { parent: ids, newSpanId });
  if (!ended) return [own, ...inner];
  return [turnSpan(traced, root, { common, error }), own, ...inner];
}

/** The model calls and tools of an attempt, below `parent`. */
export function innerSpans(
  { attempt, startedAt }: Pick<TracedTurn, 'attempt' | 'startedAt'>,
  source: CallSource,
  { parent, newSpanId }: { parent: SpanIds; newSpanId: () => string },
): NewSpan[] {
  return attempt.spans.flatMap((span) => {
    const made = spanOf(span, startedAt, startedAt + attempt.ms);
    if (made === undefined) return [];
    const more = span.kind === 'model_call' ? callAttributes(span, attempt, source) : {};
    const ids = { traceId: parent.traceId, spanId: newSpanId() };
    return [{ ...made, attributes: { ...made.attributes, ...more }, ids, parentId: parent.spanId }];
  });
}

/** The span of the whole turn, from the acceptance of its message. */
function turnSpan(
  { attempt: { profile, outcome, afterMs, ms }, startedAt }: TracedTurn,
  ids: SpanIds,
  { common, error }: { common: Attributes; error: string | undefined },
): NewSpan {
  return {
    ids,
    name: `invoke_agent ${profile}`,
    kind: SpanKind.INTERNAL,
    startMs: startedAt - afterMs,
    endMs: startedAt + ms,
    attributes: {
      ...common,
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': profile,
      'parley.outcome': outcome,
    },
    error,
  };
}

/** A model call or a tool; one that never ended lasts as long as its attempt. */
function spanOf(span: TraceSpan, startedAt: number, attemptEndMs: number): Omit<NewSpan, 'ids'> | undefined {
  if (span.kind !== 'model_call' && span.kind !== 'tool') return undefined;
  const startMs = startedAt + span.atMs;
  const endMs = span.ms === undefined ? attemptEndMs : startMs + span.ms;
  if (span.kind === 'tool') {
    const { name, callId, isError } = span;
    return {
      name: `execute_tool ${name}`,
      kind: SpanKind.INTERNAL,
      startMs,
      endMs,
      attributes: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': name,
        'gen_ai.tool.call.id': callId,
      },
      ...(isError === true && { error: 'tool_error' }),
    };
  }
  const { model, iteration, firstTokenMs, usage, error } = span;
  return {
    name: `chat ${model}`.trimEnd(),
    kind: SpanKind.CLIENT,
    startMs,
    endMs,
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': model,
      'parley.iteration': iteration,
      ...(firstTokenMs !== undefined && { 'parley.first_token_ms': firstTokenMs }),
      ...(usage !== undefined && {
        'gen_ai.usage.input_tokens': usage.promptTokens,
        'gen_ai.usage.output_tokens': usage.completionTokens,
      }),
      ...(error !== undefined && { 'error.type': error.code }),
    },
    error: error?.code,
  };
}

/** More attributes of a call: its server, why it ended, and what was sent if the operator wants it. */
function callAttributes(
  { model, iteration, finishReason }: ModelCallSpan,
  { prompt }: TraceAttempt,
  { content, serverOf }: CallSource,
): Attributes {
  const server = serverOf(model);
  const url = server && URL.parse(server.url);
  return {
    ...(server && { 'gen_ai.provider.name': server.provider }),
    ...(url && { 'server.address': url.hostname, 'server.port': portOf(url) }),
    ...(finishReason !== undefined && { 'gen_ai.response.finish_reasons': [finishReason] }),
    ...(content &&
      prompt?.iteration === iteration && {
        'gen_ai.input.messages': JSON.stringify(prompt.messages.map(asMessage)),
      }),
  };
}

function portOf({ port, protocol }: URL): number {
  return Number(port) || (protocol === 'https:' ? 443 : 80);
}

/** A message as the conventions write it. */
function asMessage({ role, content }: PromptMessage): object {
  return { role, parts: [{ type: 'text', content }] };
}

/** A pause before a retry, and other noteworthy events: by code, never by text. */
export function eventOf(span: TraceSpan, startedAt: number): NonNullable<NewSpan['events']> {
  if (span.kind !== 'retry' && span.kind !== 'note') return [];
  const attributes = span.kind === 'retry' ? { code: span.code, 'wait.ms': span.ms } : { code: span.code };
  return [{ name: span.kind, atMs: startedAt + span.atMs, attributes }];
}
