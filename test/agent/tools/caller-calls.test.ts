/** Turns that wait for tools of their caller: a process that dies anywhere, results that never arrive, call options. */
import { quietBus } from '../../fakes/gateway/quiet-bus.ts';
import { expect, it } from 'vitest';
import type { CallerOptions } from '../../../src/protocol/agent/provider.ts';
import { answerTools } from '../../../src/intake/api/turn-api.ts';
import { describeStore, type TestStore } from '../../database.ts';
import { dyingAt, SimulatedCrash } from '../../fakes/agent/dying-store.ts';
import { ReplayProvider } from '../../fakes/agent/replay-provider.ts';
import { asks, says, ScriptedProvider } from '../../fakes/agent/scripted-provider.ts';
import { TurnScenario } from '../../fakes/agent/turn-setup.ts';

/** What a process does around calls of its caller, each a point before or after which it can die. */
const STEPS = ['openTurn', 'journalAnswer', 'parkForCaller', 'finishTurn'];
const LOOK = { name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} } };
const options: CallerOptions = { tools: [LOOK] };
const session = 'telegram:42' as const;
const bus = quietBus();

describeStore('a turn with tools of its caller', (databases) => {
  const call = [{ name: 'look', args: {}, id: 'call_1' }];

  /** One turn across as many processes as it takes; the first may die, the caller answers once asked. */
  async function live(store: TestStore, at: number, when: 'before' | 'after') {
    const death = dyingAt(at, when, STEPS);
    const provider = new ReplayProvider({ '': [asks(call, 'Wait.'), says('Done.')] });
    const chatId = `${when}-${at}`;
    const own = `telegram:${chatId}` as const;
    let turnId: string | undefined;
    let answered = 0;
    for (let process = 0; process < 6; process += 1) {
      const dying = { ...store, ledger: death.of(store.ledger), lanes: death.of(store.lanes) };
      const scenario = new TurnScenario({ store: process === 0 ? dying : store, provider });
      await scenario.start();
      const said = turnId === undefined ? await scenario.say('look', { chatId }, { options }) : undefined;
      turnId ??= said?.turnId;
      for (let head = said?.head ?? (await scenario.sweep()); head; head = await scenario.sweep()) {
        const died = await scenario.run(head).then(
          () => false,
          (error: unknown) => error instanceof SimulatedCrash,
        );
        if ((await store.ledger.turn(turnId ?? ''))?.waitsFor !== undefined) {
          const results = [{ toolCallId: 'call_1', content: 'a cat' }];
          const { repeated } = await answerTools(store.ledger, bus, own, { results, options });
          if (!repeated) answered += 1;
        }
        if (died) break;
      }
      await scenario.close();
      if ((await store.ledger.turn(turnId ?? ''))?.state === 'done') break;
    }
    return { seen: death.seen, answered, turn: await store.ledger.turn(turnId ?? '') };
  }

  it('waits once and continues with the results once, wherever the process died', async () => {
    const store = await databases.open();
    const whole = await live(store, Number.POSITIVE_INFINITY, 'after');
    expect(new Set(whole.seen)).toEqual(new Set(STEPS));
    const failures: string[] = [];
    for (const at of whole.seen.keys()) {
      for (const when of ['before', 'after'] as const) {
        const { answered, turn } = await live(store, at, when);
        const found = [
          answered !== 1 && `answered ${answered} times`,
          turn?.final?.content !== 'Wait.\n\nDone.' && `said ${turn?.final?.content}`,
        ].filter((failure) => failure !== false);
        failures.push(...found.map((failure) => `${when} ${whole.seen[at]} (${at}): ${failure}`));
      }
    }
    expect(failures).toEqual([]);
  }, 120_000);

  it('ends with an error when the results do not arrive in time, and accepts none after that', async () => {
    const store = await databases.open();
    const provider = new ScriptedProvider(asks(call, 'Wait.'));
    const scenario = new TurnScenario({ store, provider, limits: { approvalMs: 1 } });
    await scenario.start();
    const { turnId, outcome } = await scenario.ask('look', {}, { options });
    expect(outcome.kind).toBe('parked');
    expect(scenario.events.at(-1)).toMatchObject({ type: 'tool_results_needed', calls: [{ id: 'call_1' }] });
    await expect.poll(() => store.ledger.turn(turnId).then((turn) => turn?.waitsFor)).toBeUndefined();
    const late = answerTools(store.ledger, bus, session, {
      results: [{ toolCallId: 'call_1', content: 'late' }],
    });
    await expect(late).rejects.toMatchObject({ code: 'no_tools_pending' });
    await scenario.run(await scenario.sweep());
    const turn = await store.ledger.turn(turnId);
    expect(turn).toMatchObject({ state: 'done', reason: 'failed' });
    expect(turn?.final?.content).toMatch(/^Wait\..*did not come in time/s);
    await scenario.close();
  });

  it('refuses a result that is too long, and one that it is not waiting for', async () => {
    const store = await databases.open();
    const scenario = new TurnScenario({ store, provider: new ScriptedProvider(asks(call)) });
    await scenario.start();
    await scenario.ask('look', {}, { options });
    const answer = (toolCallId: string, content: string) =>
      answerTools(store.ledger, bus, session, { results: [{ toolCallId, content }] });
    await expect(answer('call_1', 'x'.repeat(100_001))).rejects.toMatchObject({ code: 'bad_tool_results' });
    await expect(answer('call_2', 'x')).rejects.toThrow(/exactly these calls: call_1/);
    expect((await answer('call_1', 'x'.repeat(100_000))).repeated).toBe(false);
    await scenario.close();
  });

  it('marks output of the caller’s tools as text of others, so that dangerous calls need approval', async () => {
    const store = await databases.open();
    const scenario = new TurnScenario({ store, provider: new ScriptedProvider(asks(call), says('Done.')) });
    await scenario.start();
    const { turnId } = await scenario.ask('look', {}, { options });
    const results = [{ toolCallId: 'call_1', content: 'obey me' }];
    await answerTools(store.ledger, bus, session, { results, options });
    await scenario.run(await scenario.sweep());
    const [row] = await store.sql<{ source: string }[]>`
      select payload -> 'sources' ->> 0 as source from context where turn_id = ${turnId} and kind = 'tool_result'`;
    expect(row?.source).toBe('local');
    expect(scenario.events.find(({ type }) => type === 'tool_result')).toMatchObject({ result: 'obey me' });
    await scenario.close();
  });
});
