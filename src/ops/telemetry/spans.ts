/** The trace of a turn in OpenTelemetry, by its semantic conventions for generative AI. Prompts are in it only if the operator wants them. */
import { type Attributes, SpanKind } from '@opentelemetry/api';
import type { ModelCallSpan, TraceAttempt, TraceSpan } from '../../protocol/store/traces.ts';
import type { TracedSubagent, TracedTurn } from '../../protocol/agent/subagents.ts';

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

/** The spans of an attempt; with the last attempt also the turn itself, from the acceptance of its message. */
export function spansOf(
  traced: TracedTurn,
  target: TelemetryTarget,
  root: SpanIds,
  newSpanId: () => string,
): NewSpan[] {
  const { turnId, sessionKey, attempt, startedAt, ended: hasEnded } = traced;
  const { traceId } = root;
  const { outcome, node, epoch, ms, spans, attempts, crashes } = attempt;
  const ids = { traceId, spanId: newSpanId() };
  const endMs = startedAt + ms;
  const common = { 'parley.turn.id': turnId, 'gen_ai.conversation.id': sessionKey };
  const error = outcome === 'failed' ? outcome : undefined;
  const run: NewSpan = {
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
  const inner = innerSpans(traced, target, ids, newSpanId);
  return hasEnded ? [turnSpan(traced, root, common, error), run, ...inner] : [run, ...inner];
}

/** The model calls and tools of an attempt, below `parent`. */
export function innerSpans(
  { attempt, startedAt }: TracedTurn | TracedSubagent,
  target: TelemetryTarget,
  parent: SpanIds,
  newSpanId: () => string,
): NewSpan[] {
  return attempt.spans.flatMap((span) => {
    const ids = { traceId: parent.traceId, spanId: newSpanId() };
    const inner = spanOf(span, ids, startedAt, startedAt + attempt.ms);
    if (inner === undefined) return [];
    const more = span.kind === 'model_call' ? callAttributes(span, attempt, target) : {};
    return [{ ...inner, attributes: { ...inner.attributes, ...more }, parentId: parent.spanId }];
  });
}

/** The span of the whole turn, from the acceptance of its message. */
function turnSpan(
  { attempt: { profile, outcome, afterMs, ms }, startedAt }: TracedTurn,
  ids: SpanIds,
  common: Attributes,
  error: string | undefined,
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
function spanOf(span: TraceSpan, ids: SpanIds, startedAt: number, attemptEndMs: number): NewSpan | undefined {
  if (span.kind !== 'model_call' && span.kind !== 'tool') return undefined;
  const startMs = startedAt + span.atMs;
  const endMs = span.ms === undefined ? attemptEndMs : startMs + span.ms;
  if (span.kind === 'tool') {
    const { name, callId, isError } = span;
    return {
      ids,
      name: `execute_tool ${name}`,
      kind: SpanKind.INTERNAL,
      startMs,
      endMs,
      attributes: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': name,
        'gen_ai.tool.call.id': callId,
      },
      error: isError === true ? 'tool_error' : undefined,
    };
  }
  const { model, iteration, firstTokenMs, usage, error } = span;
  return {
    ids,
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
  target: TelemetryTarget,
): Attributes {
  const server = target.serverOf(model);
  const url = server && URL.parse(server.url);
  return {
    ...(server && { 'gen_ai.provider.name': server.provider }),
    ...(url && {
      'server.address': url.hostname,
      'server.port': Number(url.port) || (url.protocol === 'https:' ? 443 : 80),
    }),
    ...(finishReason !== undefined && { 'gen_ai.response.finish_reasons': [finishReason] }),
    ...(target.content &&
      prompt?.iteration === iteration && {
        'gen_ai.input.messages': JSON.stringify(
          prompt.messages.map(({ role, content }) => ({ role, parts: [{ type: 'text', content }] })),
        ),
      }),
  };
}

/** A pause before a retry, and other noteworthy events: by code, never by text. */
export function eventOf(span: TraceSpan, startedAt: number): NonNullable<NewSpan['events']> {
  if (span.kind !== 'retry' && span.kind !== 'note') return [];
  const attributes = span.kind === 'retry' ? { code: span.code, 'wait.ms': span.ms } : { code: span.code };
  return [{ name: span.kind, atMs: startedAt + span.atMs, attributes }];
}

/** Where the traces go, and what each request contains. */
export interface TelemetryTarget {
  /** Base address of a collector (OTLP over HTTP), such as `http://127.0.0.1:4318`. */
  endpoint: string;
  headers: Readonly<Record<string, string>>;
  version: string;
  /** Whether prompts are sent, too. */
  content: boolean;
  /** Which server a model is asked on; undefined for one that no configured server has. */
  serverOf(model: string): AskedServer | undefined;
}

/** A model server, as traces name it. */
interface AskedServer {
  /** The name of its provider, as in names of models. */
  provider: string;
  /** Its address. */
  url: string;
}

export interface Telemetry {
  /** An attempt of a turn has ended. Never throws. */
  ended(traced: TracedTurn): void;
  /** A run of a subagent has ended. Never throws. */
  subagentEnded(traced: TracedSubagent): void;
  /** Sends what is still waiting, for at most a few seconds. Never throws. */
  close(): Promise<void>;
}
