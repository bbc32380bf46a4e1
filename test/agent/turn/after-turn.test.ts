/** The list of workers after a turn: in order, in nobody's way, and one that fails harms no other. */
import { expect, it } from 'vitest';
import { createAfterTurn, MAX_AFTER_TURNS } from '../../../src/agent/turn/after-turn.ts';
import type { AfterTurnWorker, EndedTurn, WorkerContext } from '../../../src/agent/turn/after-turn.ts';
import { NO_PART } from '../../../src/agent/prompt/bootstrap-files.ts';
import { contextRow } from '../../../src/agent/prompt/history.ts';
import { createPreparation } from '../../../src/agent/prompt/prepared-profile.ts';
import { Reply } from '../../../src/agent/state/reply.ts';
import { TurnRows } from '../../../src/agent/state/turn-rows.ts';
import { UnjournaledUsage } from '../../../src/agent/state/unjournaled-usage.ts';
import type { EventBody } from '../../../src/contracts/event.ts';
import type { SessionKey } from '../../../src/contracts/message.ts';
import { defaultProfile } from '../../../src/agent/profiles/built-in.ts';
import { testLog } from '../../fakes/agent/tool-context.ts';

const notice = (text: string): EventBody => ({ type: 'notice', code: 'worker', text });

function endedTurn(sessionKey: SessionKey, lines: string[] = []): EndedTurn {
  const profile = defaultProfile('You are Parley.');
  const past = [contextRow(0, { kind: 'user', content: 'earlier' })];
  return {
    fence: { lane: `in:${sessionKey}`, node: 'n', epoch: 1, seq: 1 },
    turnId: 't',
    sessionKey,
    address: sessionKey,
    userId: sessionKey,
    memoryOwner: sessionKey,
    folder: 'folder',
    place: 'private',
    log: testLog(lines),
    profile,
    prepared: createPreparation({ tools: () => [] })(profile),
    promptContext: { bootstrap: NO_PART, skills: NO_PART, memory: NO_PART, untrusted: false },
    history: [{ messages: [], tokens: past[0]?.tokens ?? 0 }],
    past,
    mode: 'planner',
    rows: new TurnRows('hello', []),
    reply: new Reply(),
    otherUsage: new UnjournaledUsage(),
    restarted: false,
    approvals: [],
  };
}

/** A registry whose events are kept as `<session> <text>`. */
function registry(...workers: AfterTurnWorker[]) {
  const seen: string[] = [];
  const afterTurn = createAfterTurn(workers, {
    emit: (session, event) =>
      void seen.push(`${session} ${event.type === 'notice' ? event.text : event.type}`),
  });
  return { afterTurn, seen };
}

it('delays nothing, and starts each worker after the events of the one before (N-65, N-66)', async () => {
  const order: string[] = [];
  const worker = (name: string): AfterTurnWorker => ({
    name,
    run: async () => {
      order.push(`${name} begins after ${seen.length} events`);
      await Promise.resolve();
      return { events: [notice(name)] };
    },
  });
  const { afterTurn, seen } = registry(worker('first'), worker('second'));
  afterTurn.start(endedTurn('http:a'), 'completed');
  expect(order).toEqual([]);
  await afterTurn.running('http:a');
  expect(order).toEqual(['first begins after 0 events', 'second begins after 1 events']);
  expect(seen).toEqual(['http:a first', 'http:a second']);
  expect(afterTurn.running('http:a')).toBeUndefined();
});

it('gives each worker the turn, how it ended and the size of the context (N-66)', async () => {
  const given: WorkerContext[] = [];
  const look: AfterTurnWorker = {
    name: 'look',
    run: async (context) => {
      given.push(context);
      return { events: [] };
    },
  };
  const { afterTurn } = registry(look);
  const turn = endedTurn('http:a');
  afterTurn.start(turn, 'max_iterations');
  await afterTurn.running('http:a');
  const tokens = (turn.past[0]?.tokens ?? 0) + turn.rows.user.tokens;
  expect(given).toMatchObject([{ reason: 'max_iterations', size: { tokens, rows: 2 } }]);
  expect(given[0]?.turn).toBe(turn);
});

it('logs a worker that fails, and runs the next', async () => {
  const broken: AfterTurnWorker = {
    name: 'broken',
    run: async () => {
      throw new Error('no');
    },
  };
  const { afterTurn, seen } = registry(broken, {
    name: 'next',
    run: async () => ({ events: [notice('next')] }),
  });
  const lines: string[] = [];
  afterTurn.start(endedTurn('http:a', lines), 'completed');
  await afterTurn.running('http:a');
  expect(lines.join('\n')).toMatch(/"worker":"broken".*after_turn_worker_failed/);
  expect(seen).toEqual(['http:a next']);
});

it(`runs for one turn of a session, and for ${MAX_AFTER_TURNS} sessions, at a time`, async () => {
  const release = Promise.withResolvers<void>();
  const { afterTurn, seen } = registry({
    name: 'slow',
    run: async () => {
      await release.promise;
      return { events: [notice('done')] };
    },
  });
  for (let n = 0; n <= MAX_AFTER_TURNS; n += 1) afterTurn.start(endedTurn(`http:${n}`), 'completed');
  afterTurn.start(endedTurn('http:0'), 'completed');
  expect(afterTurn.running(`http:${MAX_AFTER_TURNS}`)).toBeUndefined();
  release.resolve();
  for (let n = 0; n < MAX_AFTER_TURNS; n += 1) await afterTurn.running(`http:${n}`);
  expect(seen).toHaveLength(MAX_AFTER_TURNS);
});

it('aborts its workers when it is closed, and starts no other', async () => {
  const begun = Promise.withResolvers<void>();
  const waits: AfterTurnWorker = {
    name: 'waits',
    run: async ({ signal }) => {
      const gone = Promise.withResolvers<never>();
      signal.addEventListener('abort', () => gone.reject(signal.reason));
      begun.resolve();
      return await gone.promise;
    },
  };
  const { afterTurn, seen } = registry(waits, {
    name: 'never',
    run: async () => ({ events: [notice('never')] }),
  });
  const lines: string[] = [];
  afterTurn.start(endedTurn('http:a', lines), 'completed');
  await begun.promise;
  await afterTurn.close();
  await afterTurn.close();
  afterTurn.start(endedTurn('http:b'), 'completed');
  expect(afterTurn.running('http:b')).toBeUndefined();
  expect([seen, lines]).toEqual([[], []]);
});
