/** Histograms and counters of what this gateway does, in a separate registry: several gateways may share a process. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { LaneHandler } from '../../protocol/bus.ts';
import type { AnsweredRequest } from '../../protocol/gateway-api.ts';
import type { TracedSubagent, TracedTurn } from '../../protocol/agent/subagents.ts';
import type { Usage } from '../../protocol/agent/provider.ts';
import type { UsagePurpose } from '../../protocol/agent/usage.ts';
import type { NoteRefusal } from '../../protocol/store/traces.ts';
import type { ApprovalOutcome } from '../../protocol/agent/approvals.ts';

/** Most distinct values of one label; any further one is counted as `other`. */
export const MAX_LABEL_VALUES = 50;

/** In seconds. The first are about the gateway itself, the last about models on slow machines. */
const SHORT = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const LONG = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900];

export interface Meters {
  registry: Registry;
  /** Counts an attempt of a turn that has ended. Never throws. */
  ended(traced: TracedTurn): void;
  /** Turns of this process that ended with an answer, and with a failure. */
  readonly answers: Readonly<{ answered: number; failed: number }>;
  /** Counts a run of a subagent that has ended. Never throws. */
  subagentEnded(traced: TracedSubagent): void;
  /** Counts a decided request for approval. */
  decided(outcome: ApprovalOutcome): void;
  refused: NoteRefusal;
  /** Counts the citations of an answer: those that exist, and those that the model made up. */
  cited(counts: { real: number; invented: number }): void;
  /** Counts what a model has used. */
  usage: (model: string, purpose: UsagePurpose, usage: Usage) => void;
  request(answered: AnsweredRequest): void;
  /** The same handler, with the duration of its deliveries measured. */
  deliveries(handler: LaneHandler): LaneHandler;
}

/** Makes the meters; everything starts at zero. `restarts`: how often the supervisor has started this process again. */
export function createMeters(version: string, restarts = 0): Meters {
  const registry = new Registry();
  const register = registerIn(registry);
  describeProcess(register, version, restarts);
  const label = boundedLabels(MAX_LABEL_VALUES);
  const { histogram, counter } = register;
  const requests = histogram(
    'parley_http_request_seconds',
    'Requests over HTTP, until the answer begins.',
    ['method', 'route', 'status'],
    SHORT,
  );
  const refusals = counter('parley_messages_refused_total', 'Messages that became no turn.', [
    'channel',
    'code',
  ]);
  const approvals = counter('parley_approvals_total', 'Decided requests for approval.', ['outcome']);
  const citations = counter('parley_citations_total', 'Citations of documents in answers.', ['kind']);
  const tokens = counter(
    'parley_tokens_total',
    'Tokens of model calls, read (prompt) and written (completion).',
    ['model', 'purpose', 'kind'],
  );
  const modelTime = counter('parley_model_seconds_total', 'Time that models worked.', ['model', 'purpose']);
  const span = meterSpans(register, label);
  const subagents = histogram('parley_subagent_seconds', 'Runs of subagents.', ['outcome'], LONG);
  const { answers, ended } = countAnswers(meterTurns(register, label, span));
  return {
    registry,
    answers,
    ended,
    subagentEnded({ attempt: { outcome, ms, spans } }) {
      subagents.observe({ outcome: label('outcome', outcome) }, ms / 1_000);
      for (const one of spans) span(one);
    },
    decided: (outcome) => approvals.inc({ outcome }),
    refused: ({ address, code }) =>
      refusals.inc({
        channel: label('channel', address.split(':', 1)[0] ?? ''),
        code: label('refusal', code),
      }),
    cited({ real, invented }) {
      citations.inc({ kind: 'real' }, real);
      citations.inc({ kind: 'invented' }, invented);
    },
    usage(modelName, purpose, { promptTokens, completionTokens, modelMs }) {
      const labels = { model: label('model', modelName), purpose };
      tokens.inc({ ...labels, kind: 'prompt' }, Math.round(promptTokens));
      tokens.inc({ ...labels, kind: 'completion' }, Math.round(completionTokens));
      modelTime.inc(labels, modelMs / 1_000);
    },
    request({ method, route, status, seconds }) {
      requests.observe({ method, route, status: String(status) }, seconds);
    },
    deliveries: meterDeliveries(register),
  };
}

/** Counts the turns that end, besides. */
function countAnswers(next: Meters['ended']): Pick<Meters, 'answers' | 'ended'> {
  const answers = { answered: 0, failed: 0 };
  return {
    answers,
    ended(traced) {
      if (traced.ended) answers[traced.attempt.outcome === 'failed' ? 'failed' : 'answered'] += 1;
      next(traced);
    },
  };
}

/** Version, start and restarts of this process. */
function describeProcess({ gauge, counter }: Register, version: string, restarts: number): void {
  const build = gauge('parley_build_info', 'The version that runs; always 1.', ['version', 'node']);
  build.set({ version, node: process.version }, 1);
  counter('parley_process_restarts_total', 'Starts after this process had died.', []).inc(restarts);
  const startTime = gauge('process_start_time_seconds', 'Start of this process, as Unix time.', []);
  startTime.set(Math.floor(performance.timeOrigin / 1_000));
}

type Register = ReturnType<typeof registerIn>;
type Label = ReturnType<typeof boundedLabels>;

/** Makes meters that the registry lists. */
export function registerIn(registry: Registry) {
  const registers = [registry];
  return {
    histogram: <Name extends string>(name: string, help: string, labelNames: Name[], buckets: number[]) =>
      new Histogram({ name, help, labelNames, buckets, registers }),
    counter: <Name extends string>(name: string, help: string, labelNames: Name[]) =>
      new Counter({ name, help, labelNames, registers }),
    gauge: <Name extends string>(name: string, help: string, labelNames: Name[]) =>
      new Gauge({ name, help, labelNames, registers }),
  };
}

/** Turns, and what their attempts consist of. */
function meterTurns(register: Register, label: Label, span: MeterSpan): Meters['ended'] {
  const { histogram, counter } = register;
  const turns = histogram('parley_turn_seconds', 'Turns, from acceptance to commit.', ['outcome'], LONG);
  const queue = histogram('parley_queue_wait_seconds', 'From acceptance to the start of a turn.', [], LONG);
  const parked = counter('parley_turns_paused_total', 'Turns that go on later.', ['outcome']);
  const edits = counter('parley_live_calls_total', 'Calls of growing answers.', ['outcome']);
  const takenOver = counter(
    'parley_turns_after_crash_total',
    'Attempts at turns with which a process had died.',
    [],
  );
  return ({ attempt, ended: hasEnded }) => {
    const { outcome, afterMs, ms, live, spans, crashes } = attempt;
    if (crashes > 0) takenOver.inc();
    if (attempt.resumed !== true) queue.observe(afterMs / 1_000);
    if (hasEnded) turns.observe({ outcome: label('outcome', outcome) }, (afterMs + ms) / 1_000);
    else parked.inc({ outcome });
    const { points: _points, ...counts } = live ?? {};
    for (const [name, count] of Object.entries(counts)) edits.inc({ outcome: name }, count);
    for (const one of spans) span(one);
  };
}

type MeterSpan = (span: TracedTurn['attempt']['spans'][number]) => void;

/** Model calls, tool calls and pauses of turns and subagents. */
function meterSpans({ histogram, counter }: Register, label: Label): MeterSpan {
  const firstTokens = 'From the request to the first token.';
  const firstToken = histogram('parley_first_token_seconds', firstTokens, ['model'], LONG);
  const calls = histogram('parley_model_call_seconds', 'Whole model calls.', ['model', 'outcome'], LONG);
  const tools = histogram('parley_tool_seconds', 'Tool calls.', ['tool', 'outcome'], LONG);
  const retries = counter('parley_model_retries_total', 'Pauses before a model call was repeated.', ['code']);
  return (one) => {
    const seconds = ('ms' in one ? (one.ms ?? 0) : 0) / 1_000;
    if (one.kind === 'retry') retries.inc({ code: label('code', one.code) });
    if (one.kind === 'tool')
      tools.observe(
        { tool: label('tool', one.name), outcome: one.isError === true ? 'error' : 'ok' },
        seconds,
      );
    if (one.kind !== 'model_call' || one.model === '') return;
    const model = label('model', one.model);
    const outcome = one.error === undefined ? 'ok' : label('code', one.error.code);
    calls.observe({ model, outcome }, seconds);
    if (one.firstTokenMs !== undefined) firstToken.observe({ model }, one.firstTokenMs / 1_000);
  };
}

/** How long deliveries take. */
function meterDeliveries({ histogram }: Register): Meters['deliveries'] {
  const help = 'Attempts to deliver an answer.';
  const deliveries = histogram('parley_delivery_seconds', help, ['outcome'], LONG);
  return (handler) => ({
    ...handler,
    async handle(head, signal) {
      const stop = deliveries.startTimer();
      try {
        const outcome = await handler.handle(head, signal);
        stop({ outcome: outcome.kind });
        return outcome;
      } catch (error) {
        stop({ outcome: 'error' });
        throw error;
      }
    },
    async onDeadLetter(head, error) {
      deliveries.observe({ outcome: 'dead' }, 0);
      return await handler.onDeadLetter(head, error);
    },
  });
}

/**
 * The value of a label, or `other` beyond the first `max`: names of models and tools come from outside, and each value is
 * a time series forever.
 */
function boundedLabels(max: number): (label: string, value: string) => string {
  const valuesByLabel = new Map<string, Set<string>>();
  return (label, value) => {
    const values = valuesByLabel.get(label) ?? new Set<string>();
    valuesByLabel.set(label, values);
    if (!values.has(value) && values.size >= max) return 'other';
    values.add(value);
    return value;
  };
}
