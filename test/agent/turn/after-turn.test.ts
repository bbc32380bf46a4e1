/** The list of workers after a turn: in order, in no one's way, and a failure of one does not affect the others. */
import { expect, it } from 'vitest';
import {
  type AfterTurnWorker,
  createAfterTurn,
  endedTurn as endedTurnOf,
  type EndedTurn,
  MAX_AFTER_TURNS,
} from '../../../src/agent/after-turn/after-turn.ts';
import { partialTurn } from '../../fakes/agent/turn.ts';
import { NO_PART } from '../../../src/agent/prompt/bootstrap-files.ts';
import { contextRow } from '../../../src/agent/prompt/history.ts';
import { createPreparation } from '../../../src/agent/prompt/prepared-profile.ts';
import { Reply } from '../../../src/agent/turn/reply.ts';
import { TurnRows } from '../../../src/agent/turn/turn-rows.ts';
import { UnjournaledUsage } from '../../../src/agent/turn/turn-state.ts';
import type { AfterTurnName, AfterTurnSettings } from '../../../src/protocol/agent/subagents.ts';
import type { EventBody } from '../../../src/protocol/event.ts';
import type { SessionKey } from '../../../src/protocol/message.ts';
import { defaultProfile } from '../../../src/agent/profiles/built-in.ts';
import { testLog } from '../../fakes/agent/tool-context.ts';
import { inEnglish } from '../../../src/protocol/texts/say.ts';

const notice = (text: string): EventBody => ({ type: 'notice', code: 'worker', text });

const ALL_ON: AfterTurnSettings = { compression: true, facts: true, title: true };
const past = [contextRow(0, { kind: 'user', content: 'earlier' })];

function endedTurn(sessionKey: SessionKey, lines: string[] = []): EndedTurn {
  const profile = defaultProfile('You are Parley.');
  const turn = {
    fence: { lane: `in:${sessionKey}` as const, node: 'n', epoch: 1, seq: 1 },
    turnId: 't',
    sessionKey,
    address: sessionKey,
    userId: sessionKey,
    memoryOwner: sessionKey,
    folder: 'folder',
    place: 'private' as const,
    log: testLog(lines),
    profile,
    prepared: createPreparation({ tools: () => [] })(profile),
    promptContext: { bootstrap: NO_PART, skills: [], memory: NO_PART, untrusted: false },
    history: [{ messages: [], tokens: past[0]?.tokens ?? 0 }],
    past,
    mode: 'planner' as const,
    rows: new TurnRows('hello', []),
    reply: new Reply(),
    otherUsage: new UnjournaledUsage(),
    restarted: false,
    approvals: [],
    askedIn: 'private' as const,
    surfaces: [],
    say: inEnglish,
  };
  return endedTurnOf(partialTurn(turn), {
    reason: 'max_iterations',
    text: 'Hello yourself.',
    title: undefined,
  });
}

/** A worker of that name. */
function worker(run: AfterTurnWorker['run'], name: AfterTurnName = 'compression', givesWay = false) {
  return { name, givesWay, run };
}

/** A registry whose events are kept as `<session> <text>`. */
function registry(workers: AfterTurnWorker[], settings = ALL_ON) {
  const seen: string[] = [];
  const emit = (session: SessionKey, event: EventBody): void =>
    void seen.push(`${session} ${event.type === 'notice' ? event.text : event.type}`);
  return { afterTurn: createAfterTurn(workers, emit, () => settings), seen };
}

/** Runs until its signal aborts; `begun` resolves once it is running. */
function waiting(name: AfterTurnName, givesWay: boolean) {
  const begun = Promise.withResolvers<void>();
  const run: AfterTurnWorker['run'] = async (_turn, signal) => {
    const gone = Promise.withResolvers<never>();
    signal.addEventListener('abort', () => gone.reject(signal.reason));
    begun.resolve();
    return await gone.promise;
  };
  return { worker: worker(run, name, givesWay), begun: begun.promise };
}

it('delays nothing, and starts each worker after the events of the previous one (N-65, N-66)', async () => {
  const order: string[] = [];
  const noting = (name: string): AfterTurnWorker =>
    worker(async () => {
      order.push(`${name} begins after ${seen.length} events`);
      await Promise.resolve();
      return [notice(name)];
    });
  const { afterTurn, seen } = registry([noting('first'), noting('second')]);
  afterTurn.start(endedTurn('http:a'));
  expect(order).toEqual([]);
  await afterTurn.running('http:a');
  expect(order).toEqual(['first begins after 0 events', 'second begins after 1 events']);
  expect(seen).toEqual(['http:a first', 'http:a second']);
  expect(afterTurn.running('http:a')).toBeUndefined();
});

it('gives each worker the message and the answer, how the turn ended and the size of the context (N-66)', async () => {
  const given: EndedTurn[] = [];
  const { afterTurn } = registry([
    worker(async (turn) => {
      given.push(turn);
      return [];
    }),
  ]);
  afterTurn.start(endedTurn('http:a'));
  await afterTurn.running('http:a');
  const tokens = (past[0]?.tokens ?? 0) + contextRow(0, { kind: 'user', content: 'hello' }).tokens;
  expect(given).toMatchObject([
    { said: 'hello', answer: 'Hello yourself.', reason: 'max_iterations', size: { tokens, rows: 2 } },
  ]);
});

it('does not run a worker that is disabled', async () => {
  const { afterTurn, seen } = registry(
    [worker(async () => [notice('compressed')]), worker(async () => [notice('titled')], 'title')],
    { ...ALL_ON, compression: false },
  );
  afterTurn.start(endedTurn('http:a'));
  await afterTurn.running('http:a');
  expect(seen).toEqual(['http:a titled']);
});

it('logs a worker that fails, and runs the next', async () => {
  const broken = worker(async () => {
    throw new Error('no');
  }, 'title');
  const { afterTurn, seen } = registry([broken, worker(async () => [notice('next')])]);
  const lines: string[] = [];
  afterTurn.start(endedTurn('http:a', lines));
  await afterTurn.running('http:a');
  expect(lines.join('\n')).toMatch(/"worker":"title".*after_turn_worker_failed/);
  expect(seen).toEqual(['http:a next']);
});

it(`runs for one turn of a session, and for ${MAX_AFTER_TURNS} sessions, at a time`, async () => {
  const release = Promise.withResolvers<void>();
  const { afterTurn, seen } = registry([
    worker(async () => {
      await release.promise;
      return [notice('done')];
    }),
  ]);
  for (let n = 0; n <= MAX_AFTER_TURNS; n += 1) afterTurn.start(endedTurn(`http:${n}`));
  afterTurn.start(endedTurn('http:0'));
  expect(afterTurn.running(`http:${MAX_AFTER_TURNS}`)).toBeUndefined();
  release.resolve();
  for (let n = 0; n < MAX_AFTER_TURNS; n += 1) await afterTurn.running(`http:${n}`);
  expect(seen).toHaveLength(MAX_AFTER_TURNS);
});

it('ends only workers that yield when the next turn of their session starts', async () => {
  const title = waiting('title', true);
  const elsewhere = waiting('title', true);
  const { afterTurn, seen } = registry([title.worker, worker(async () => [notice('kept')])]);
  const others = registry([elsewhere.worker]);
  const lines: string[] = [];
  afterTurn.start(endedTurn('http:a', lines));
  others.afterTurn.start(endedTurn('http:b'));
  await Promise.all([title.begun, elsewhere.begun]);
  afterTurn.turnBegins('http:a');
  others.afterTurn.turnBegins('http:a');
  await afterTurn.running('http:a');
  expect([seen, lines]).toEqual([['http:a kept'], []]);
  expect(others.afterTurn.running('http:b')).toBeDefined();
  await others.afterTurn.close();
});

it('aborts its workers when it is closed, and starts no more', async () => {
  const waits = waiting('compression', false);
  const { afterTurn, seen } = registry([waits.worker, worker(async () => [notice('never')], 'title')]);
  const lines: string[] = [];
  afterTurn.start(endedTurn('http:a', lines));
  await waits.begun;
  await afterTurn.close();
  await afterTurn.close();
  afterTurn.start(endedTurn('http:b'));
  expect(afterTurn.running('http:b')).toBeUndefined();
  expect([seen, lines]).toEqual([[], []]);
});
