/** Messages that arrive while a turn runs: what happens to them in each queue mode. */
import { expect, it } from 'vitest';
import { COLLECT_MOST_MS, COLLECT_QUIET_MS, MAX_JOINED } from '../../../src/agent/turn/queue-modes.ts';
import { LaneAbort } from '../../../src/protocol/bus.ts';
import type { Ledger } from '../../../src/protocol/store/ledger.ts';
import type { ChatMessage } from '../../../src/protocol/agent/provider.ts';
import type { QueueMode } from '../../../src/protocol/store/records.ts';
import { describeStore, type TestStore } from '../../database.ts';
import { moment, nextTurn } from '../../fakes/moments.ts';
import { asks, fallsSilent, says, ScriptedProvider } from '../../fakes/agent/scripted-provider.ts';
import { openScenario } from '../../fakes/agent/turn-setup.ts';
import { inEnglish } from '../../../src/protocol/texts/say.ts';

const SESSION = 'telegram:42' as const;

const MOMENT = [{ name: 'moment', args: {} }];

const userWords = (messages: readonly ChatMessage[]): string[] =>
  messages.filter(({ role }) => role === 'user').map(({ content }) => content);

describeStore('a message that arrives while a turn runs', (databases) => {
  const mode = async (store: { ledger: Ledger }, queueMode: QueueMode): Promise<void> => {
    await store.ledger.updateSession(SESSION, { queueMode });
  };

  it('joins it at its next step in mode steer, and is answered there and nowhere else', async () => {
    const provider = new ScriptedProvider(asks(MOMENT, 'Looking.'), says('Both done.'));
    const late: string[] = [];
    const scenario = await openScenario(databases, {
      provider,
      tools: [
        moment(async () => {
          late.push((await scenario.say('and two')).turnId);
          late.push((await scenario.say('and three')).turnId);
        }),
      ],
    });
    const first = await scenario.say('one');
    await mode(scenario.store, 'steer');
    expect(nextTurn(await scenario.run(first.head))).toBeUndefined();
    expect(userWords(provider.requests[1]?.messages ?? [])).toEqual(['one', 'and two', 'and three']);
    const roles = provider.requests[1]?.messages.map(({ role }) => role).filter((role) => role !== 'system');
    expect(roles).toEqual(['user', 'assistant', 'tool', 'user', 'user']);
    expect(scenario.events).toContainEqual({ type: 'messages_joined', turnIds: late });
    for (const turnId of late) {
      expect(await scenario.store.ledger.turn(turnId)).toMatchObject({ state: 'done', reason: 'joined' });
    }
  });

  it('has its own turn when the running turn ends before it could join', async () => {
    const provider = new ScriptedProvider(says('One.'), says('Two.'));
    const scenario = await openScenario(databases, { provider });
    const first = await scenario.say('one');
    await mode(scenario.store, 'steer');
    await scenario.say('two');
    // The first answer needs no further step; the second message waits for its own turn.
    await scenario.store.ledger.updateSession(SESSION, { queueMode: 'queue' });
    await scenario.run(nextTurn(await scenario.run(first.head)));
    expect(scenario.finishes.map(({ content }) => content)).toEqual(['One.', 'Two.']);
  });

  it('does not join a turn of another user or another chat, nor when it names a model', async () => {
    const provider = new ScriptedProvider(asks(MOMENT), says('Only mine.'), says('a'), says('b'), says('c'));
    const others = [
      { senderId: '7' },
      { senderId: '42', request: { model: 'test-model' } },
      { senderId: '42', threadId: '9', sessionKey: SESSION },
    ];
    const scenario = await openScenario(databases, {
      provider,
      tools: [
        moment(async () => {
          for (const { request, ...over } of others) await scenario.say('not yours', over, request);
        }),
      ],
    });
    const first = await scenario.say('mine');
    await mode(scenario.store, 'steer');
    let head = nextTurn(await scenario.run(first.head));
    expect(userWords(provider.requests[1]?.messages ?? [])).toEqual(['mine']);
    while (head !== undefined) head = nextTurn(await scenario.run(head));
    expect(scenario.finishes).toHaveLength(4);
  });

  it('interrupts it in mode interrupt: the text so far is kept and marked, and the message is answered next', async () => {
    const provider = new ScriptedProvider(fallsSilent('It began in'), says('Sure.'));
    const scenario = await openScenario(databases, { provider });
    const first = await scenario.say('tell me a story');
    await mode(scenario.store, 'interrupt');
    const abort = new AbortController();
    const running = scenario.run(first.head, abort.signal);
    // Its first words are on their way: an earlier abort would leave the answer to the next turn.
    await provider.silence();
    await scenario.say('shorter, please');
    abort.abort(new LaneAbort('interrupted'));
    const outcome = await running;
    expect(scenario.finishes[0]).toMatchObject({ reason: 'interrupted' });
    expect(scenario.finishes[0]?.content).toContain(inEnglish('turn.interrupted'));
    expect(scenario.events).toContainEqual({ type: 'turn_ended', reason: 'interrupted' });
    await scenario.run(nextTurn(outcome));
    expect(scenario.finishes[1]).toMatchObject({ reason: 'completed', content: 'Sure.' });
  });

  it('becomes one message with the rest of its burst in mode collect, after a short silence', async () => {
    const provider = new ScriptedProvider(says('Hello.'), says('Read it all.'));
    const scenario = await openScenario(databases, { provider });
    await scenario.ask('hi');
    await mode(scenario.store, 'collect');
    const { sql } = await databases.open({ beside: scenario.store as TestStore });
    const first = await scenario.say('part one');
    const early = await scenario.run(first.head);
    expect(early).toMatchObject({ kind: 'released' });
    const { delayMs = 0 } = early.kind === 'released' ? early : {};
    expect(delayMs).toBeGreaterThan(0);
    expect(delayMs).toBeLessThanOrEqual(COLLECT_QUIET_MS);
    await scenario.store.lanes.release(first.head!, { delayMs: 0, attempt: false });
    await scenario.say('part two', {}, { node: undefined });
    await sql`update turn set created_at = created_at - interval '2 s', ended_at = ended_at - interval '2 s'`;
    await scenario.run(await scenario.sweep());
    expect(userWords(provider.requests[1]?.messages ?? [])).toEqual(['hi', 'part one\npart two']);
  });

  it('waits a limited time for the end of a burst', async () => {
    const provider = new ScriptedProvider(says('Hello.'), says('Enough.'));
    const scenario = await openScenario(databases, { provider });
    await scenario.ask('hi');
    await mode(scenario.store, 'collect');
    const { sql } = await databases.open({ beside: scenario.store as TestStore });
    const first = await scenario.say('one');
    await sql`
      update turn set created_at = created_at - ${COLLECT_MOST_MS} * interval '1 ms',
        ended_at = ended_at - ${COLLECT_MOST_MS} * interval '1 ms'`;
    await scenario.say('two', {}, { node: undefined });
    expect(await scenario.run(first.head)).toMatchObject({ kind: 'finished' });
    expect(userWords(provider.requests[1]?.messages ?? []).at(-1)).toBe('one\ntwo');
  });

  it(`joins in batches of at most ${MAX_JOINED}; the rest follows at the next iteration`, async () => {
    const provider = new ScriptedProvider(asks(MOMENT), asks(MOMENT), says('All.'));
    let calls = 0;
    const scenario = await openScenario(databases, {
      provider,
      tools: [
        moment(async () => {
          calls += 1;
          if (calls > 1) return;
          for (let n = 0; n <= MAX_JOINED; n += 1) await scenario.say(`m${n}`);
        }),
      ],
    });
    const first = await scenario.say('go');
    await mode(scenario.store, 'steer');
    await scenario.run(first.head);
    expect(userWords(provider.requests[1]?.messages ?? [])).toHaveLength(1 + MAX_JOINED);
    expect(userWords(provider.requests[2]?.messages ?? [])).toHaveLength(2 + MAX_JOINED);
  });
});
