/** A process that dies at each point of a turn's journal: nothing is done twice, and the answer is the same. */
import { expect, it, vi } from 'vitest';
import { LaneAbort } from '../../../src/protocol/bus.ts';
import type { EventBody } from '../../../src/protocol/event.ts';
import { SUSPECT_CRASHES } from '../../../src/protocol/store/lanes.ts';
import { describeStore, type TestStore } from '../../database.ts';
import { dyingAt, notOfDeath, SimulatedCrash, TURN_STEPS } from '../../fakes/agent/dying-store.ts';
import { type EffectsServer, effectTools, startEffects } from '../../fakes/agent/effect-tools.ts';
import { type ReplayProvider, replaySteps } from '../../fakes/agent/replay-provider.ts';
import { asks, fallsSilent, says, ScriptedProvider } from '../../fakes/agent/scripted-provider.ts';
import { openScenario, TurnScenario } from '../../fakes/agent/turn-setup.ts';
import { inEnglish } from '../../../src/protocol/texts/say.ts';

/** The turn: ten calls of every effect in two answers, and the final text. */
const model = (): ReplayProvider =>
  replaySteps(
    asks(calls('unsafe', 'idempotent', 'pure', 'unsafe', 'pure', 'idempotent'), 'First I ', 'look.'),
    asks(calls('unsafe', 'pure', 'idempotent', 'unsafe')),
    says('Then ', 'I answer.'),
  );
function calls(...effects: string[]) {
  return effects.map((effect) => ({ name: `${effect}_probe`, args: {} }));
}

const ANSWER = 'First I look.\n\nThen I answer.';

/** Runs one turn that dies at a given point, then resumes it in a new process of the same instance. */
async function dieAndResume(
  store: TestStore,
  effects: EffectsServer,
  at: number,
  when: 'before' | 'after',
): Promise<{
  seen: string[];
  events: EventBody[];
  second: TurnScenario;
  turnId: string;
  calls: number;
  died: boolean;
}> {
  const tools = effectTools(effects.url);
  const provider = model();
  const death = dyingAt(at, when, TURN_STEPS);
  const first = new TurnScenario({ store, provider, tools, around: death.of });
  await first.start();
  const { head, turnId } = await first.say('Do it', { chatId: `${when}-${at}` });
  await first.run(head).catch(notOfDeath);
  const second = new TurnScenario({ store, provider, tools });
  await second.start();
  const resumed = await second.sweep();
  if (resumed !== undefined) await second.run(resumed);
  await Promise.all([first.close(), second.close()]);
  const events = [...first.events, ...second.events];
  return { seen: death.seen, events, second, turnId, calls: provider.requests.length, died: death.died() };
}

describeStore('a turn whose process dies', (databases) => {
  it('runs each of ten tools once and ends with the same text, wherever it died (B-14)', async () => {
    const store = await databases.open();
    const effects = await startEffects();
    const whole = await dieAndResume(store, effects, Number.POSITIVE_INFINITY, 'after');
    expect(whole.seen.filter((step) => step === 'toolIntent')).toHaveLength(7);
    expect(whole.seen.filter((step) => step === 'toolResult')).toHaveLength(10);
    expect(new Set(whole.seen)).toEqual(new Set(TURN_STEPS));
    const failures: string[] = [];
    for (const at of whole.seen.keys()) {
      for (const when of ['before', 'after'] as const) {
        const run = await dieAndResume(store, effects, at, when);
        const turn = await store.ledger.turn(run.turnId);
        const ended = turn?.reason === 'completed' && turn.final?.content === ANSWER;
        const found = [
          !run.died && 'did not die',
          !ended && `ended as ${turn?.reason}: ${turn?.final?.content}`,
          run.second.shown(run.events) !== ANSWER && `showed ${run.second.shown(run.events)}`,
          run.calls > whole.calls + 1 && `asked the model ${run.calls} times`,
          ...effectErrors(effects, run),
        ].filter((failure) => failure !== false);
        failures.push(...found.map((failure) => `${when} ${whole.seen[at]} (${at}): ${failure}`));
      }
    }
    expect(failures).toEqual([]);
    await effects.close();
  });

  it('reports to user and model that the outcome of an interrupted unsafe call is unknown', async () => {
    const store = await databases.open();
    const effects = await startEffects();
    // The first intent belongs to the unsafe call of the first answer: openTurn, journalAnswer, toolIntent.
    const run = await dieAndResume(store, effects, 2, 'after');
    expect(effects.runs(`${run.turnId}.1.0`)).toBe(0);
    expect(run.second.events).toContainEqual(
      expect.objectContaining({ type: 'notice', code: 'outcome_unknown' }),
    );
    expect(run.second.events).toContainEqual(
      expect.objectContaining({ type: 'tool_result', result: expect.stringContaining('Outcome unknown') }),
    );
    await effects.close();
  });

  it('reopens the live message with its earlier parts and text', async () => {
    const store = await databases.open();
    const provider = model();
    const effects = await startEffects();
    const tools = effectTools(effects.url);
    const first = new TurnScenario({ store, provider, tools, around: dyingAt(3, 'before', TURN_STEPS).of });
    await first.start();
    const { head, turnId } = await first.say('Do it', { placeholder: { id: 'deferred-1' } });
    if (head === undefined) throw new Error('There is no head.');
    const screen = first.run(head).catch((error: unknown) => error);
    expect(await screen).toBeInstanceOf(SimulatedCrash);
    expect(first.opened[0]).toMatchObject({ turnId, textSoFar: '', placeholders: [{ id: 'deferred-1' }] });
    await first.opened[0]?.note(turnId, [{ id: '1001' }]);
    const second = new TurnScenario({ store, provider, tools });
    await second.start();
    await second.run(await second.sweep());
    expect(second.opened[0]).toMatchObject({ textSoFar: 'First I look.', placeholders: [{ id: '1001' }] });
    expect([first.opened[0]?.takenOver, second.opened[0]?.takenOver]).toEqual([false, true]);
    expect(second.textsSoFar).toEqual(['First I look.']);
    await Promise.all([first.close(), second.close(), effects.close()]);
  });

  it('resets text that was not journaled when the turn was stopped while its node was dead', async () => {
    const store = await databases.open();
    const provider = new ScriptedProvider(says('Never committed.'));
    const first = new TurnScenario({ store, provider, around: dyingAt(1, 'before', TURN_STEPS).of });
    await first.start();
    const { head, turnId } = await first.say('Hi');
    await expect(first.run(head)).rejects.toThrow(SimulatedCrash);
    await store.lanes.stop('telegram:42', { fresh: false });
    const second = new TurnScenario({ store, provider });
    await second.start();
    await second.run(await second.sweep());
    expect(await store.ledger.turn(turnId)).toMatchObject({
      reason: 'stopped',
      final: { content: inEnglish('turn.stopped') },
    });
    expect(second.shown([...first.events, ...second.events])).toBe(inEnglish('turn.stopped'));
    await second.close();
  });

  it('resets an unfinished answer on shutdown, releases the head, and streams the answer again', async () => {
    const provider = new ScriptedProvider(fallsSilent('Half'), says('Whole.'));
    const scenario = await openScenario(databases, { provider });
    const { head, turnId } = await scenario.say('Hi');
    const shutdown = new AbortController();
    const running = scenario.run(head, shutdown.signal);
    await provider.silence();
    shutdown.abort(new LaneAbort('shutdown'));
    expect(await running).toEqual({ kind: 'released' });
    expect(scenario.shown()).toBe('');
    expect(scenario.order).toEqual(['open', 'settle']);
    if (head !== undefined) await scenario.store.lanes.release(head, { delayMs: 0, attempt: false });
    await scenario.run(await scenario.sweep());
    expect((await scenario.store.ledger.turn(turnId))?.final?.content).toBe('Whole.');
  });

  it('lets a tool finish before it releases the head on shutdown', async () => {
    const shutdown = new AbortController();
    const effects = await startEffects();
    const tools = effectTools(effects.url).map((tool) => ({
      ...tool,
      execute: (...given: Parameters<typeof tool.execute>) => {
        shutdown.abort(new LaneAbort('shutdown'));
        return tool.execute(...given);
      },
    }));
    const provider = new ScriptedProvider(asks([{ name: 'unsafe_probe', args: {} }]), says('Done.'));
    const scenario = await openScenario(databases, { provider, tools });
    const { head, turnId } = await scenario.say('Hi');
    expect(await scenario.run(head, shutdown.signal)).toEqual({ kind: 'released' });
    if (head !== undefined) await scenario.store.lanes.release(head, { delayMs: 0, attempt: false });
    await scenario.run(await scenario.sweep());
    expect((await scenario.store.ledger.turn(turnId))?.final?.content).toBe('Done.');
    expect(effects.runs(`${turnId}.1.0`)).toBe(1);
    await effects.close();
  });

  it('writes nothing once the lease is lost, and rethrows that it was fenced off', async () => {
    const provider = new ScriptedProvider(fallsSilent('Half'), says('Late.'));
    const scenario = await openScenario(databases, { provider });
    const { head, turnId } = await scenario.say('Hi');
    const lost = new AbortController();
    const running = scenario.run(head, lost.signal).catch((error: unknown) => error);
    await provider.silence();
    lost.abort(new LaneAbort('lease_lost'));
    expect(await running).toMatchObject({ code: 'lease_lost' });
    expect(scenario.finishes).toEqual([]);
    await scenario.start();
    const taken = await scenario.sweep();
    expect(await scenario.run(head).catch((error: unknown) => error)).toMatchObject({ code: 'fenced' });
    await scenario.run(taken);
    expect((await scenario.store.ledger.turn(turnId))?.final?.content).toBe('Late.');
  });

  it('is not to blame while it only waits for a slot at its model', async () => {
    const store = await databases.open();
    const place = Promise.withResolvers<void>();
    const provider = new ScriptedProvider({ ...says('Now.'), ahead: 3, before: () => place.promise });
    const first = await openScenario(databases, { store, provider });
    const { head } = await first.say('Hi');
    const noted = async (isWaiting: boolean) => {
      const rows = await store.sql`select waiting from lane where key = ${head!.lane}`;
      expect(rows).toEqual([{ waiting: isWaiting }]);
    };
    // A suspect reports at once that it waits; others report it after a second.
    const over = first.run({ ...head!, crashes: SUSPECT_CRASHES });
    await vi.waitFor(() => noted(true));
    place.resolve();
    await over;
    await noted(false);
    expect(first.shown()).toBe('Now.');
  });

  it('shows no text twice to a reader that got the beginning from a snapshot', async () => {
    const store = await databases.open();
    const provider = new ScriptedProvider(says('Good ', 'morning.'), says('Good ', 'morning.'));
    const death = dyingAt(0, 'before', ['finishTurn']);
    const first = await openScenario(databases, { store, provider, around: death.of });
    const { head } = await first.say('Hi');
    await first.run(head).catch(notOfDeath);
    const second = await openScenario(databases, { store, provider });
    await second.run(await second.sweep());
    // A snapshot names no call: a reset of the call alone would not remove its text.
    const texts = new Map([['snapshot', 'Good ']]);
    for (const event of second.events) {
      if (event.type === 'stream_chunk') texts.set(event.msgId, (texts.get(event.msgId) ?? '') + event.delta);
      if (event.type === 'stream_reset') texts.delete(event.msgId);
      if (event.type !== 'snapshot') continue;
      texts.clear();
      texts.set('snapshot', event.text);
    }
    expect([...texts.values()].join('')).toBe('Good morning.');
  });
});

/** Unsafe calls run once, or not at all if the user was told that the outcome is unknown; others run at least once. */
function effectErrors(
  effects: EffectsServer,
  run: { turnId: string; events: EventBody[] },
): (string | false)[] {
  const runs = (place: string): number => effects.runs(`${run.turnId}.${place}`);
  const unsafe = ['1.0', '1.3', '2.0', '2.3'].map(runs);
  const repeatable = ['1.1', '1.2', '1.4', '1.5', '2.1', '2.2'].map(runs);
  const told = run.events.filter(
    (event) => event.type === 'notice' && event.code === 'outcome_unknown',
  ).length;
  return [
    Math.max(...unsafe) > 1 && 'an unsafe call ran twice',
    unsafe.filter((count) => count === 0).length > told && 'an unsafe call was lost silently',
    told > 1 && 'more than one outcome is unknown',
    Math.min(...repeatable) === 0 && 'an idempotent or pure call was lost',
  ];
}
