/** Why a message got no answer, or which it got, in one sentence: pure, from what the store knows of its turn. */
import type { TurnExplanation, TurnFacts } from '../../contracts/store/traces.ts';
import { stripEnd } from '../../lib/text.ts';
import { counted, duration } from './words.ts';

type Why = Pick<TurnExplanation, 'code' | 'why'>;

/** The sentence and its code. `detail` adds the words of errors, which may name addresses. */
export function explainTurn(facts: TurnFacts, detail: boolean): Why {
  switch (facts.state) {
    case 'done':
      return explainEnd(facts, detail);
    case 'parked':
      return explainParked(facts);
    case 'queued':
    case 'running':
      return explainUnfinished(facts, detail);
    default:
      return facts.state satisfies never;
  }
}

function explainEnd(facts: TurnFacts, detail: boolean): Why {
  const { reason, joinedInto, queue, answered } = facts;
  if (reason === 'joined') {
    const into = joinedInto === undefined ? 'the turn before it' : `turn ${joinedInto}`;
    return { code: 'joined', why: `Its message was joined into ${into}, whose answer covers both.` };
  }
  if (queue.dead) {
    const tries = `after ${counted(queue.attempts, 'failed attempt')} and ${counted(queue.crashes, 'crash')}`;
    const why = `It was given up ${tries.replace('crashs', 'crashes')}${because(queue.error, detail)}. ${REPLAY}`;
    return { code: 'dead_letter', why };
  }
  if (!answered && facts.attempts.at(-1)?.outcome === 'silent') {
    return { code: 'silent', why: 'The model answered only with the silent token, so nothing was sent.' };
  }
  const undelivered = explainDelivery(facts, detail);
  if (undelivered !== undefined) return undelivered;
  if (reason === 'failed') {
    const error = lastError(facts);
    const code = facts.failure?.code ?? error?.code ?? 'unknown';
    return { code: 'failed', why: `It failed with ${code}${because(error?.message, detail)}.` };
  }
  if (reason === 'stopped') {
    const begun = facts.attempts.length > 0 || facts.answers.length > 0;
    const why = begun ? 'It was stopped while it ran.' : 'It was dropped from the queue by a stop.';
    return { code: 'stopped', why };
  }
  if (reason === 'interrupted')
    return { code: 'interrupted', why: 'The next message of the chat interrupted it.' };
  const took = duration(facts.delivery?.sentMs ?? facts.endedMs ?? 0);
  return { code: 'answered', why: `It was answered after ${took}${ENDINGS[reason ?? ''] ?? ''}.` };
}

const REPLAY = '"npx parley dead-letters" lists and replays it.';

/** What is special about an answer that was sent. */
const ENDINGS: Record<string, string> = {
  cut_off: '; the answer reached its maximum length',
  filtered: '; the model, or the filter of its server, refused to answer',
  max_iterations: '; it reached the maximum of steps (maxIterations)',
};

/** Why the answer is not on screen; undefined where it is, or where none had to be sent. */
function explainDelivery({ delivery, nowMs }: TurnFacts, detail: boolean): Why | undefined {
  if (delivery === undefined || (delivery.sentMs !== undefined && !delivery.dead)) return undefined;
  const { ahead, attempts, waitedMs, dueInMs, owner, error, dead } = delivery;
  if (dead) {
    const why = `Its answer is written, but its delivery was given up${because(error, detail)}. ${REPLAY}`;
    return { code: 'delivery_dead', why };
  }
  if (ahead > 0) {
    const why = `Its answer is written and waits behind ${counted(ahead, 'other message')} to the chat.`;
    return { code: 'delivery_waits', why };
  }
  if (error !== undefined || attempts > 0) {
    const next = dueInMs > 0 ? `the next try is in ${duration(dueInMs)}` : 'it is being tried now';
    const why = `Its answer is written, but the platform does not take it${because(error, detail)}; it was tried for ${duration(waitedMs)} so far, ${next}.`;
    return { code: 'delivery_retried', why };
  }
  if (dueInMs > 0) {
    const why = `Its answer is written; the platform asked for a pause, the next try is in ${duration(dueInMs)}.`;
    return { code: 'delivery_retried', why };
  }
  const why =
    owner === undefined
      ? 'Its answer is written and waits for a gateway to deliver it.'
      : `Its answer is being delivered, ${duration(nowMs)} after the message.`;
  return { code: 'delivery_waits', why };
}

function explainParked(facts: TurnFacts): Why {
  if (facts.waitsForCaller) {
    const why = 'It waits for its client to send the results of the tools that the client runs.';
    return { code: 'waits_for_client', why };
  }
  const pending = facts.approvals.findLast(({ state }) => state === 'pending');
  if (pending === undefined)
    return { code: 'running', why: 'Its approval was decided, and it is about to go on.' };
  const waits = duration(facts.nowMs - pending.atMs);
  const left = pending.expiresInMs > 0 ? `, for at most ${duration(pending.expiresInMs)} more` : '';
  const why = `It has waited ${waits} for a person to approve the tool ${pending.tool}${left}.`;
  return { code: 'waits_for_approval', why };
}

function explainUnfinished(facts: TurnFacts, detail: boolean): Why {
  const { queue, gateways, running, state } = facts;
  if (gateways === 0) return { code: 'no_gateway', why: 'It waits: no gateway is running.' };
  if (queue.ahead > 0) {
    const at =
      queue.head === undefined ? '' : `; turn ${queue.head.turnId} at the head is ${queue.head.state}`;
    const why = `It waits behind ${counted(queue.ahead, 'earlier message')} of its session${at}.`;
    return { code: 'queued_behind', why };
  }
  if (queue.owner !== undefined) return explainRunning(facts);
  if (queue.dueInMs > 0 && queue.error === undefined && state === 'queued') {
    const why = `It waits ${duration(queue.dueInMs)} for more messages (queue mode collect).`;
    return { code: 'collecting', why };
  }
  if (queue.error !== undefined || queue.crashes > 0) {
    const next = queue.dueInMs > 0 ? `in ${duration(queue.dueInMs)}` : 'as soon as a gateway has room';
    const tries = `${counted(queue.attempts, 'failed attempt')}, ended by ${queue.crashes} deaths of a gateway`;
    const why = `It is tried again ${next} (${tries})${because(queue.error, detail)}.`;
    return { code: 'retried', why };
  }
  const why = `It is due, but no gateway has room for it: ${counted(gateways, 'gateway')} ${gateways === 1 ? 'runs' : 'run'} ${counted(running, 'turn')} (turns.concurrency).`;
  return { code: 'no_room', why };
}

/** A turn that a node works on; what it does now is known on that node only. */
function explainRunning({ nowMs, attempts, queue }: TurnFacts): Why {
  const open = attempts.at(-1)?.outcome === 'running' ? attempts.at(-1) : undefined;
  const span = open?.spans.findLast((one) => one.kind !== 'note' && one.ms === undefined);
  if (open === undefined || span === undefined) {
    return { code: 'running', why: `Node ${queue.owner} has been working on it for ${duration(nowMs)}.` };
  }
  const since = duration(open.ms - span.atMs);
  if (span.kind === 'tool')
    return { code: 'running', why: `The tool ${span.name} has been running for ${since}.` };
  const model = span.kind === 'model_call' ? span.model : '';
  const why = `It waits for the model ${model} since ${since}; tokens are seen when the call ends.`;
  return { code: 'running', why };
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
