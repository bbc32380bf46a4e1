/** Why a message got no answer, or which one it got, in one sentence. Pure. */
import type { TurnExplanation, TurnFacts } from '../../protocol/store/traces.ts';
import { stripEnd } from '../../lib/text.ts';
import { inEnglish, isTextKey, type PlainKey, type Say } from '../../protocol/texts/say.ts';

interface Explanation {
  code: TurnExplanation['code'];
  why: string;
}

/** The sentence, in English or worded by `say`, and its code. `detail` adds the text of errors, which may name addresses. */
export function explainTurn(facts: TurnFacts, detail: boolean, say: Say = inEnglish): Explanation {
  switch (facts.state) {
    case 'done':
      return explainEnd(facts, detail, say);
    case 'parked':
      return explainParked(facts, say);
    case 'queued':
    case 'running':
      return explainUnfinished(facts, detail, say);
    default:
      return facts.state satisfies never;
  }
}

function explainEnd(facts: TurnFacts, detail: boolean, say: Say): Explanation {
  const { reason, joinedInto, queue, answered: isAnswered } = facts;
  if (reason === 'joined') {
    const into =
      joinedInto === undefined ? say('why.joined_before') : say('why.joined_turn', { turn: joinedInto });
    return { code: 'joined', why: say('why.joined', { into }) };
  }
  if (queue.dead) {
    const text = say('why.dead', {
      attempts: say('why.attempts', numbered(queue.attempts)),
      crashes: say('why.crashes', numbered(queue.crashes)),
      because: because(queue.error, detail),
      replay: say('why.replay'),
    });
    return { code: 'dead_letter', why: text };
  }
  if (!isAnswered && facts.attempts.at(-1)?.outcome === 'silent')
    return { code: 'silent', why: say('why.silent') };
  const undelivered = explainDelivery(facts, detail, say);
  if (undelivered !== undefined) return undelivered;
  if (reason === 'failed') {
    const error = lastError(facts);
    const code = facts.failure?.code ?? error?.code ?? 'unknown';
    return { code: 'failed', why: say('why.failed', { code, because: because(error?.message, detail) }) };
  }
  if (reason === 'stopped') {
    const hasBegun = facts.attempts.length > 0 || facts.answers.length > 0;
    return { code: 'stopped', why: hasBegun ? say('why.stopped') : say('why.dropped') };
  }
  if (reason === 'interrupted') return { code: 'interrupted', why: say('why.interrupted') };
  const time = duration(facts.delivery?.sentMs ?? facts.endedMs ?? 0);
  return { code: 'answered', why: say(ENDINGS[reason ?? ''] ?? 'why.answered', { time }) };
}

/** What is special about an answer that was sent. */
const ENDINGS: Record<
  string,
  'why.answered_cut_off' | 'why.answered_filtered' | 'why.answered_max_iterations'
> = {
  cut_off: 'why.answered_cut_off',
  filtered: 'why.answered_filtered',
  max_iterations: 'why.answered_max_iterations',
};

/** Why the answer is not on screen; undefined if it is, or if none had to be sent. */
function explainDelivery({ delivery, nowMs }: TurnFacts, detail: boolean, say: Say): Explanation | undefined {
  if (delivery === undefined || (delivery.sentMs !== undefined && !delivery.dead)) return undefined;
  const { ahead, attempts, waitedMs, dueInMs, owner, error, dead } = delivery;
  const reason = { because: because(error, detail) };
  if (dead)
    return { code: 'delivery_dead', why: say('why.delivery_dead', { ...reason, replay: say('why.replay') }) };
  if (ahead > 0) return { code: 'delivery_waits', why: say('why.delivery_behind', numbered(ahead)) };
  const next = duration(dueInMs);
  if (error !== undefined || attempts > 0) {
    const values = { ...reason, time: duration(waitedMs) };
    const text =
      dueInMs > 0 ? say('why.delivery_refused', { ...values, next }) : say('why.delivery_tried', values);
    return { code: 'delivery_retried', why: text };
  }
  if (dueInMs > 0) return { code: 'delivery_retried', why: say('why.delivery_paused', { next }) };
  const text =
    owner === undefined ? say('why.delivery_waits') : say('why.delivery_runs', { time: duration(nowMs) });
  return { code: 'delivery_waits', why: text };
}

function explainParked(facts: TurnFacts, say: Say): Explanation {
  if (facts.waitsForCaller) return { code: 'waits_for_client', why: say('why.client') };
  const pending = facts.approvals.findLast(({ state }) => state === 'pending');
  if (pending === undefined) return { code: 'running', why: say('why.decided') };
  const values = { time: duration(facts.nowMs - pending.atMs), tool: pending.tool };
  const text =
    pending.expiresInMs > 0
      ? say('why.approval_left', { ...values, left: duration(pending.expiresInMs) })
      : say('why.approval', values);
  return { code: 'waits_for_approval', why: text };
}

function explainUnfinished(facts: TurnFacts, detail: boolean, say: Say): Explanation {
  const { queue, gateways, running, state } = facts;
  if (gateways === 0) return { code: 'no_gateway', why: say('why.no_gateway') };
  if (queue.ahead > 0) {
    const { head } = queue;
    const at = head === undefined ? '' : say('why.behind_head', { turn: head.turnId, state: head.state });
    return { code: 'queued_behind', why: say('why.behind', { ...numbered(queue.ahead), at }) };
  }
  if (queue.owner !== undefined) return explainRunning(facts, say);
  const time = duration(queue.dueInMs);
  if (queue.dueInMs > 0 && queue.error === undefined && state === 'queued')
    return { code: 'collecting', why: say('why.collecting', { time }) };
  if (queue.error !== undefined || queue.crashes > 0) {
    const values = {
      attempts: say('why.attempts', numbered(queue.attempts)),
      crashes: say('why.crashes', numbered(queue.crashes)),
      because: because(queue.error, detail),
    };
    const text =
      queue.dueInMs > 0 ? say('why.retried_in', { ...values, time }) : say('why.retried_soon', values);
    return { code: 'retried', why: text };
  }
  const turns = say('why.turns', numbered(running));
  return { code: 'no_room', why: say('why.no_room', { ...numbered(gateways), turns }) };
}

/** A turn that a node is working on; only that node knows what it is doing now. */
function explainRunning({ nowMs, attempts, queue }: TurnFacts, say: Say): Explanation {
  const open = attempts.at(-1)?.outcome === 'running' ? attempts.at(-1) : undefined;
  const span = open?.spans.findLast((one) => one.kind !== 'note' && one.ms === undefined);
  if (open === undefined || span === undefined) {
    const text = say('why.node', { node: queue.owner ?? '', time: duration(nowMs) });
    return { code: 'running', why: text };
  }
  const time = duration(open.ms - span.atMs);
  if (span.kind === 'tool') return { code: 'running', why: say('why.tool', { tool: span.name, time }) };
  const model = span.kind === 'model_call' ? span.model : '';
  return { code: 'running', why: say('why.model', { model, time }) };
}

/** The last error of a model call in the notes. */
function lastError({ attempts }: TurnFacts): { code: string; message: string } | undefined {
  const spans = attempts.flatMap((attempt) => attempt.spans);
  for (const span of spans.toReversed()) if (span.kind === 'model_call' && span.error) return span.error;
  return undefined;
}

function because(error: string | undefined, detail: boolean): string {
  return error === undefined || !detail ? '' : `: ${stripEnd(error, '. \n')}`;
}

/** A duration: `80 ms`, `1.2 s`, `3 min 5 s`, `2 h 10 min`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 59_950) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`;
}

/** A whole number with separators. */
export function whole(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

/** A count in both forms: the number that plurals depend on, and with separators. */
export function numbered(count: number): { count: number; number: string } {
  return { count, number: whole(count) };
}

/** Whether there is a text under this key; only for keys of a kind that needs no values. */
export function isPlainKey(key: string): key is PlainKey {
  return isTextKey(key);
}
