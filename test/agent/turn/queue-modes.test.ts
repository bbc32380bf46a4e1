/** Messages that come while a turn runs: what becomes of them in each queue mode. */
import { expect, it } from 'vitest';
import { COLLECT_MOST_MS, COLLECT_QUIET_MS, MAX_JOINED } from '../../../src/agent/turn/queue-modes.ts';
import { INTERRUPTED_MARK } from '../../../src/agent/turn/agent-loop.ts';
import { LaneAbort } from '../../../src/contracts/bus.ts';
import type { Ledger } from '../../../src/contracts/ledger.ts';
import type { ChatMessage } from '../../../src/contracts/provider.ts';
import type { QueueMode } from '../../../src/contracts/records.ts';
import { describeEmbedded } from '../../database.ts';
import type { TestStore } from '../../database.ts';
import { moment, nextTurn } from '../../fakes/moments.ts';
import { asks, fallsSilent, says, ScriptedProvider } from '../../fakes/agent/scripted-provider.ts';
import { openWorld } from '../../fakes/agent/turn-setup.ts';

const SESSION = 'telegram:42' as const;

const MOMENT = [{ name: 'moment', args: {} }];

const userWords = (messages: readonly ChatMessage[]): string[] =>
  messages.filter(({ role }) => role === 'user').map(({ content }) => content);

describeEmbedded('a message that comes while a turn runs', (databases) => {
  const mode = async (store: { ledger: Ledger }, queueMode: QueueMode): Promise<void> => {
    await store.ledger.updateSession(SESSION, { queueMode });
  };

  it('joins it at its next step in mode steer, and is answered there and nowhere else', async () => {
    const provider = new ScriptedProvider(asks(MOMENT, 'Looking.'), says('Both done.'));
    const late: string[] = [];
    const world = await openWorld(databases, {
      provider,
      tools: [
        moment(async () => {
          late.push((await world.say('and two')).turnId);
          late.push((await world.say('and three')).turnId);
        }),
      ],
    });
    const first = await world.say('one');
    await mode(world.store, 'steer');
    expect(nextTurn(await world.run(first.head))).toBeUndefined();
    expect(userWords(provider.requests[1]?.messages ?? [])).toEqual(['one', 'and two', 'and three']);
    const roles = provider.requests[1]?.messages.map(({ role }) => role).filter((role) => role !== 'system');
    expect(roles).toEqual(['user', 'assistant', 'tool', 'user', 'user']);
    expect(world.events).toContainEqual({ type: 'messages_joined', turnIds: late });
    for (const turnId of late) {
      expect(await world.store.ledger.turn(turnId)).toMatchObject({ state: 'done', reason: 'joined' });
    }
  });

  it('runs by itself when the turn ends before it could join', async () => {
    const provider = new ScriptedProvider(says('One.'), says('Two.'));
    const world = await openWorld(databases, { provider });
    const first = await world.say('one');
    await mode(world.store, 'steer');
    await world.say('two');
    // The first answer needs no further step; the second message waits for its own.
    await world.store.ledger.updateSession(SESSION, { queueMode: 'queue' });
    await world.run(nextTurn(await world.run(first.head)));
    expect(world.finishes.map(({ content }) => content)).toEqual(['One.', 'Two.']);
  });

  it('does not join a turn of another person, another place, or when it asks for a model of its own', async () => {
    const provider = new ScriptedProvider(asks(MOMENT), says('Only mine.'), says('a'), says('b'), says('c'));
    const others = [
      { senderId: '7' },
      { senderId: '42', request: { model: 'test-model' } },
      { senderId: '42', threadId: '9', sessionKey: SESSION },
    ];
    const world = await openWorld(databases, {
      provider,
      tools: [
        moment(async () => {
          for (const { request, ...over } of others) await world.say('not yours', over, request);
        }),
      ],
    });
    const first = await world.say('mine');
    await mode(world.store, 'steer');
    let head = nextTurn(await world.run(first.head));
    expect(userWords(provider.requests[1]?.messages ?? [])).toEqual(['mine']);
    while (head !== undefined) head = nextTurn(await world.run(head));
    expect(world.finishes).toHaveLength(4);
  });

  it('ends it in mode interrupt: what was said is kept and marked, and the message is answered next', async () => {
    const provider = new ScriptedProvider(fallsSilent('It began in'), says('Sure.'));
    const world = await openWorld(databases, { provider });
    const first = await world.say('tell me a story');
    await mode(world.store, 'interrupt');
    const abort = new AbortController();
    const running = world.run(first.head, abort.signal);
    await world.say('shorter, please');
    abort.abort(new LaneAbort('interrupted'));
    const outcome = await running;
    expect(world.finishes[0]).toMatchObject({ reason: 'interrupted' });
    expect(world.finishes[0]?.content).toContain(INTERRUPTED_MARK);
    expect(world.events).toContainEqual({ type: 'turn_ended', reason: 'interrupted' });
    await world.run(nextTurn(outcome));
    expect(world.finishes[1]).toMatchObject({ reason: 'completed', content: 'Sure.' });
  });

  it('becomes one message with the rest of its burst in mode collect, after a quiet moment', async () => {
    const provider = new ScriptedProvider(says('Hello.'), says('Read it all.'));
    const world = await openWorld(databases, { provider });
    await world.ask('hi');
    await mode(world.store, 'collect');
    const { sql } = await databases.open({ beside: world.store as TestStore });
    const first = await world.say('part one');
    const early = await world.run(first.head);
    expect(early).toMatchObject({ kind: 'released' });
    const { delayMs = 0 } = early.kind === 'released' ? early : {};
    expect(delayMs).toBeGreaterThan(0);
    expect(delayMs).toBeLessThanOrEqual(COLLECT_QUIET_MS);
    await world.store.lanes.release(first.head!, { delayMs: 0, attempt: false });
    await world.say('part two', {}, { node: undefined });
    await sql`update turn set created_at = created_at - interval '2 s', ended_at = ended_at - interval '2 s'`;
    await world.run(await world.sweep());
    expect(userWords(provider.requests[1]?.messages ?? [])).toEqual(['hi', 'part one\npart two']);
  });

  it('waits no longer for the end of a burst than people do', async () => {
    const provider = new ScriptedProvider(says('Hello.'), says('Enough.'));
    const world = await openWorld(databases, { provider });
    await world.ask('hi');
    await mode(world.store, 'collect');
    const { sql } = await databases.open({ beside: world.store as TestStore });
    const first = await world.say('one');
    await sql`
      update turn set created_at = created_at - ${COLLECT_MOST_MS} * interval '1 ms',
        ended_at = ended_at - ${COLLECT_MOST_MS} * interval '1 ms'`;
    await world.say('two', {}, { node: undefined });
    expect(await world.run(first.head)).toMatchObject({ kind: 'finished' });
    expect(userWords(provider.requests[1]?.messages ?? []).at(-1)).toBe('one\ntwo');
  });

  it(`joins with at most ${MAX_JOINED} at a time; the rest follows at the next step`, async () => {
    const provider = new ScriptedProvider(asks(MOMENT), asks(MOMENT), says('All.'));
    let calls = 0;
    const world = await openWorld(databases, {
      provider,
      tools: [
        moment(async () => {
          calls += 1;
          if (calls > 1) return;
          for (let n = 0; n <= MAX_JOINED; n += 1) await world.say(`m${n}`);
        }),
      ],
    });
    const first = await world.say('go');
    await mode(world.store, 'steer');
    await world.run(first.head);
    expect(userWords(provider.requests[1]?.messages ?? [])).toHaveLength(1 + MAX_JOINED);
    expect(userWords(provider.requests[2]?.messages ?? [])).toHaveLength(2 + MAX_JOINED);
  });
});
