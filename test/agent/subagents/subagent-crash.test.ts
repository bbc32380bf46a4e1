/** A process that dies at each point of a subagent's journal: it resumes where it was, and nothing is done twice. */
import { expect, it } from 'vitest';
import { LaneAbort } from '../../../src/protocol/bus.ts';
import type { EventBody } from '../../../src/protocol/event.ts';
import type { LaneHead } from '../../../src/protocol/store/lanes.ts';
import { agentIdOf } from '../../../src/protocol/agent/subagents.ts';
import { spawnAgent } from '../../../src/tools/spawn-agent.ts';
import { describeStore, type TestStore } from '../../database.ts';
import { dyingAt, RUN_STEPS, TURN_STEPS } from '../../fakes/agent/dying-store.ts';
import { type EffectsServer, effectTools, startEffects } from '../../fakes/agent/effect-tools.ts';
import { ReplayProvider } from '../../fakes/agent/replay-provider.ts';
import { asks, fallsSilent, says } from '../../fakes/agent/scripted-provider.ts';
import { openScenario, TurnScenario } from '../../fakes/agent/turn-setup.ts';

const probes = ['unsafe_probe', 'idempotent_probe', 'pure_probe'].map((name) => ({ name, args: {} }));

/** The turn asks a subagent, which uses tools twice; `background` does not wait for it. */
const replay = (background: boolean): ReplayProvider =>
  new ReplayProvider({
    'Do it': [
      asks([{ name: 'spawn_agent', args: { task: 'The task', background } }], 'I ask.'),
      says('Asked.'),
    ],
    '[Report of': [says('Told.')],
    'The task': [
      asks(probes, 'First I look.'),
      asks([{ name: 'unsafe_probe', args: {} }]),
      says('The result.'),
    ],
  });

interface Run {
  seen: string[];
  died: boolean;
  turnId: string;
  agentId: string;
  chat: string;
  first: TurnScenario;
  second: TurnScenario;
  provider: ReplayProvider;
}

/** Runs the turn and its background work in a process that dies at a point; another of the same instance resumes. */
async function dieAndResume(
  store: TestStore,
  effects: EffectsServer,
  point: { at: number; when: 'before' | 'after'; background: boolean },
): Promise<Run> {
  const { at, when, background } = point;
  const tools = [spawnAgent, ...effectTools(effects.url)];
  const provider = replay(background);
  const chat = `${background}-${when}-${at}`;
  const death = dyingAt(at, when, [...TURN_STEPS, ...RUN_STEPS]);
  const first = new TurnScenario({ store, provider, tools, around: death.of, aroundSubagents: death.of });
  await first.start();
  const { head, turnId } = await first.say('Do it', { chatId: chat });
  await runAll(first, head).catch(() => undefined);
  const second = new TurnScenario({ store, provider, tools });
  await second.start();
  for (const laneClass of ['in', 'agent', 'in'] as const) await runAll(second, await second.sweep(laneClass));
  await Promise.all([first.close(), second.close()]);
  const agentId = agentIdOf(`telegram:${chat}`, `${turnId}.1.0`);
  return { seen: death.seen, died: death.died(), turnId, agentId, chat, first, second, provider };
}

/** Runs a head, the background work it starts, and what follows from its end. */
async function runAll(scenario: TurnScenario, head: LaneHead | undefined): Promise<void> {
  if (head === undefined) return;
  const outcome = await scenario.run(head);
  const next = outcome.kind === 'finished' ? outcome.step.heads : [];
  const mine = [...scenario.background.splice(0), ...next].filter(({ lane }) => !lane.startsWith('out:'));
  for (const one of mine) await runAll(scenario, one);
}

/** Each effect once, except an unsafe one that was cut off, which is reported to the subagent. */
function effectErrors(effects: EffectsServer, { agentId, first, second }: Run): string[] {
  const runs = (place: string): number => effects.runs(`${agentId}.${place}`);
  const told = [...first.ofAgents, ...second.ofAgents].filter(
    (event) => event.type === 'notice' && event.code === 'outcome_unknown',
  ).length;
  const unsafe = [runs('1.0'), runs('2.0')];
  return [
    Math.max(...unsafe) > 1 ? 'an unsafe call ran twice' : '',
    unsafe.filter((count) => count === 0).length > told ? 'an unsafe call was lost silently' : '',
    runs('1.1') === 0 || runs('1.2') === 0 ? 'a call was lost' : '',
  ].filter((failure) => failure !== '');
}

const results = (events: readonly EventBody[]): string[] =>
  events.flatMap((event) =>
    event.type === 'tool_result' && event.name === 'spawn_agent' ? [event.result] : [],
  );

describeStore('a subagent whose process dies', (databases) => {
  it('continues from its journal wherever it died, repeats no effect, and counts its usage once (N-04)', async () => {
    const store = await databases.open();
    const effects = await startEffects();
    const whole = await dieAndResume(store, effects, { at: Infinity, when: 'after', background: false });
    expect(new Set(whole.seen)).toEqual(new Set([...TURN_STEPS, 'journal', 'write', 'close']));
    const failures: string[] = [];
    for (const at of whole.seen.keys()) {
      for (const when of ['before', 'after'] as const) {
        const run = await dieAndResume(store, effects, { at, when, background: false });
        const turn = await store.ledger.turn(run.turnId);
        const read = run.provider
          .about('Do it')
          .at(-1)
          ?.messages.findLast(({ role }) => role === 'tool')?.content;
        const rows = await store.sql`select kind from context where turn_id = ${run.agentId}`;
        const spent =
          await store.sql`select id from usage where turn_id = ${run.turnId} and purpose = 'subagent'`;
        const found = [
          !run.died && 'did not die',
          turn?.final?.content !== 'I ask.\n\nAsked.' && `ended with ${turn?.final?.content}`,
          read !== 'The result.' && `the model read ${read}`,
          rows.length !== 11 && `kept ${rows.length} rows of its journal`,
          spent.length !== 1 && `counted its cost ${spent.length} times`,
          run.provider.about('The task').length > 4 && 'asked the model again',
          ...effectErrors(effects, run),
        ].filter((failure) => failure !== false);
        failures.push(...found.map((failure) => `${when} ${whole.seen[at]} (${at}): ${failure}`));
      }
    }
    expect(failures).toEqual([]);
    await effects.close();
  });

  it('in the background starts once, ends once and is announced once, wherever it died (B-31, B-34)', async () => {
    const store = await databases.open();
    const effects = await startEffects();
    const whole = await dieAndResume(store, effects, { at: Infinity, when: 'after', background: true });
    expect(whole.seen).toEqual(expect.arrayContaining(['start', 'journal', 'write', 'finish']));
    const failures: string[] = [];
    for (const at of whole.seen.keys()) {
      for (const when of ['before', 'after'] as const) {
        const run = await dieAndResume(store, effects, { at, when, background: true });
        const messages = await store.ledger.messages(`telegram:${run.chat}`, { limit: 9 });
        const told = messages.filter(
          ({ role, content }) => role === 'system' && content.includes('The result.'),
        );
        const rows = await store.sql`select kind from context where turn_id = ${run.agentId}`;
        const spent =
          await store.sql`select id from usage where turn_id = ${run.turnId} and purpose = 'subagent'`;
        const [lane] = await store.sql`select head, tail from lane where key = ${`agent:${run.agentId}`}`;
        const cards = [...run.first.cards, ...run.second.cards];
        const found = [
          !run.died && 'did not die',
          cards[0] !== `${run.agentId} working` && 'showed no card',
          cards.at(-1) !== `${run.agentId} finished` && `left a card that says ${cards.at(-1)}`,
          messages.filter(({ content }) => content === 'Told.').length !== 1 && 'nobody was told',
          told.length !== 1 && `announced ${told.length} times`,
          messages.filter(({ content }) => content === 'I ask.\n\nAsked.').length !== 1 &&
            'the turn was not answered',
          rows.length > 0 && `left ${rows.length} rows`,
          spent.length !== 1 && `counted its cost ${spent.length} times`,
          (lane?.['head'] !== 1 || lane['tail'] !== 1) && `its lane is ${JSON.stringify(lane)}`,
          ...effectErrors(effects, run),
        ].filter((failure) => failure !== false);
        failures.push(...found.map((failure) => `${when} ${whole.seen[at]} (${at}): ${failure}`));
      }
    }
    expect(failures).toEqual([]);
    await effects.close();
  });

  it('is released with its turn on shutdown, and continues later', async () => {
    const provider = new ReplayProvider({
      'Do it': [asks([{ name: 'spawn_agent', args: { task: 'The task' } }]), says('Asked.')],
      'The task': [fallsSilent('Half')],
    });
    const scenario = await openScenario(databases, { provider, tools: [spawnAgent] });
    const { head } = await scenario.say('Do it');
    const shutdown = new AbortController();
    const running = scenario.run(head, shutdown.signal);
    await expect.poll(() => scenario.ofAgents.at(-1)?.type, { timeout: 10_000 }).toBe('stream_chunk');
    shutdown.abort(new LaneAbort('shutdown'));
    expect(await running).toEqual({ kind: 'released' });
    expect(results(scenario.events)).toEqual([]);
    expect(scenario.ofAgents.map((event) => event.type)).not.toContain('subagent_completed');
    if (head !== undefined) await scenario.store.lanes.release(head, { delayMs: 0, attempt: false });
    provider.play('The task', [says('Whole.')]);
    await scenario.run(await scenario.sweep());
    expect(results(scenario.events)).toEqual(['Whole.']);
  });
});
