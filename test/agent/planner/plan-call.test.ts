/** A plan the model asks for with the tool `plan`: no call for a simple question, three phases for a multi-step task. */
import { expect, it } from 'vitest';
import { ProviderError } from '../../../src/protocol/errors.ts';
import { listDir } from '../../../src/tools/files/list-dir.ts';
import { plan } from '../../../src/tools/plan.ts';
import { createScratchpadTool } from '../../../src/tools/scratchpad.ts';
import { createTodoTool } from '../../../src/tools/todo.ts';
import { describeStore, type TestStore } from '../../database.ts';
import { dyingAt, notOfDeath, TURN_STEPS } from '../../fakes/agent/dying-store.ts';
import { asks, fails, says, ScriptedProvider } from '../../fakes/agent/scripted-provider.ts';
import { openScenario, TurnScenario } from '../../fakes/agent/turn-setup.ts';
import { ANALYSIS, only, PLAN, PlanningModel, update } from '../../fakes/gateway/planned-turn.ts';

const GOAL = 'A loaf of bread';
const asksForPlan = asks([{ name: 'plan', args: { goal: GOAL } }]);
const auto = { enabledTools: ['list_dir'] };

const tools = (store: TestStore) => [
  listDir,
  plan,
  createTodoTool(store.todos),
  createScratchpadTool(store.scratchpad),
];

/** What the model reads as results of its calls, in its last request. */
const resultsIn = ({ requests }: ScriptedProvider): string[] =>
  (requests.at(-1)?.messages ?? []).flatMap(({ role, content }) => (role === 'tool' ? [content] : []));

describeStore('a plan that the model asks for', (databases) => {
  it('ends as ignored when the answer comes without a step of it, which the next plan says', async () => {
    const store = await databases.open();
    const script = [asksForPlan, says(ANALYSIS), says(PLAN), says('Buy some.')];
    const provider = new ScriptedProvider(...script, ...script);
    const scenario = await openScenario(databases, { store, provider, tools: tools(store), profile: auto });
    await scenario.ask('Please bake');
    expect(only(scenario.events, 'plan_completed', 'plan_ignored', 'plan_cancelled')).toEqual([
      { type: 'plan_ignored' },
    ]);
    expect((await store.plans.latestPlan('telegram:42'))?.plan.state).toBe('ignored');
    await scenario.ask('Please bake again');
    expect(resultsIn(provider).at(-1)).toBe(
      'The plan is made. Its steps:\n1. Look around\n2. Knead\n3. Bake\n\n' +
        'The plan before this one was not followed: you answered without beginning one of its 3 steps.',
    );
  });

  it('costs a simple question in agentic mode one call, which says that none is needed', async () => {
    const store = await databases.open();
    const provider = new ScriptedProvider(says('DIRECT'), says('Four.'));
    const scenario = await openScenario(databases, { store, provider, tools: tools(store), profile: auto });
    await scenario.ask('What is two and two?', {}, { mode: 'agentic' });
    expect(scenario.shown()).toContain('Four.');
    expect(provider.requests).toHaveLength(2);
  });

  it('costs a simple question no extra call, and its tools come with the profile (N-15)', async () => {
    const store = await databases.open();
    const provider = new ScriptedProvider(says('Four.'));
    const scenario = await openScenario(databases, { store, provider, tools: tools(store), profile: auto });
    await scenario.ask('What is two and two?');
    expect(provider.requests).toHaveLength(1);
    expect(provider.requests[0]?.tools?.map(({ name }) => name)).toEqual([
      'list_dir',
      'plan',
      'todo',
      'scratchpad',
    ]);
  });

  it('is created in three phases with the goal it names, and the loop follows it (N-14)', async () => {
    const store = await databases.open();
    const done = [update(1, 'done'), update(2, 'done'), update(3, 'done')];
    const script = [asksForPlan, says(ANALYSIS), says(PLAN), ...done, says('Bread.')];
    const provider = new ScriptedProvider(...script);
    const scenario = await openScenario(databases, { store, provider, tools: tools(store), profile: auto });
    await scenario.ask('Please bake');
    expect(provider.requests[1]?.messages.at(-1)?.content).toContain(`"${GOAL}"`);
    expect(provider.requests[3]?.messages.at(-1)?.content).toContain('Carry out your plan now');
    const found = only(scenario.events, 'tool_result', 'plan_ready', 'plan_completed', 'step_changed');
    expect(found.map(({ type }) => type).slice(0, 2)).toEqual(['plan_ready', 'tool_result']);
    expect(only(scenario.events, 'plan_completed')).toHaveLength(1);
    expect((await store.plans.latestPlan('telegram:42'))?.plan).toMatchObject({
      goal: GOAL,
      state: 'completed',
    });
  });

  it('is made without being asked for in agentic mode, and executed step by step (S-02)', async () => {
    const store = await databases.open();
    const steps = [asks([{ name: 'list_dir', args: { path: '.' } }]), says('Kneaded.'), says('Baked.')];
    const provider = new ScriptedProvider(
      says(ANALYSIS),
      says('Steps\n1. [SELF] Knead\n2. [SELF] Bake'),
      ...steps,
      says('Bread.'),
    );
    const scenario = await openScenario(databases, { store, provider, tools: tools(store), profile: auto });
    await scenario.ask('Please bake', {}, { mode: 'agentic' });
    expect(scenario.shown()).toContain('Bread.');
    expect(only(scenario.events, 'step_changed').length).toBeGreaterThan(2);
    expect((await store.plans.latestPlan('telegram:42'))?.plan.steps.map(({ status }) => status)).toEqual([
      'done',
      'done',
    ]);
  });

  it('is not created twice in a turn: a second request gets the advice to change the list', async () => {
    const store = await databases.open();
    const provider = new ScriptedProvider(
      asksForPlan,
      says(ANALYSIS),
      says(PLAN),
      asksForPlan,
      says('Bread.'),
    );
    const scenario = await openScenario(databases, { store, provider, tools: tools(store), profile: auto });
    await scenario.ask('Please bake');
    expect(only(scenario.events, 'plan_ready')).toHaveLength(1);
    expect(provider.requests.at(-1)?.messages.at(-1)?.content).toContain('change the todo list instead');
    expect(resultsIn(provider)).toEqual([
      expect.stringMatching(/^The plan is made. Its steps:\n1\. /),
      'The plan is made already: change the todo list instead.',
    ]);
  });

  it('leaves the model a note to continue without one when it turns out to be unnecessary (N-15)', async () => {
    const store = await databases.open();
    const provider = new ScriptedProvider(asksForPlan, says('DIRECT'), says('Bread.'));
    const scenario = await openScenario(databases, { store, provider, tools: tools(store), profile: auto });
    await scenario.ask('Please bake');
    expect(only(scenario.events, 'plan_ready')).toHaveLength(0);
    expect(provider.requests.at(-1)?.messages.at(-1)?.content).toContain('No plan was made');
    expect(resultsIn(provider)).toEqual([expect.stringContaining('none is needed')]);
  });

  it('is not spoken of as made when it has no steps, or could not be made, and is not tried again', async () => {
    const store = await databases.open();
    for (const [third, result] of [
      [says('I would rather not.'), 'it had no steps that can be read'],
      [fails(new ProviderError('bad_request', 'refused')), 'it could not be made'],
    ] as const) {
      const provider = new ScriptedProvider(asksForPlan, says(ANALYSIS), third, asksForPlan, says('Bread.'));
      const scenario = await openScenario(databases, { store, provider, tools: tools(store), profile: auto });
      await scenario.ask('Please bake', { chatId: result });
      expect(only(scenario.events, 'plan_ready')).toHaveLength(0);
      expect(resultsIn(provider)).toEqual([
        `There is no plan: ${result}. Continue without one.`,
        'There is no plan. Continue without one.',
      ]);
    }
  });

  it('cannot be requested where a turn never plans: in a schedule, in a subagent, with planning off (N-02)', async () => {
    const store = await databases.open();
    const offered = async (profile: object, entry: 'run' | 'runStream') => {
      const provider = new ScriptedProvider(says('Four.'));
      const scenario = await openScenario(databases, { store, provider, tools: tools(store), profile });
      await scenario.ask(
        'What is two and two?',
        { chatId: `${entry}-${JSON.stringify(profile)}` },
        { entry },
      );
      return provider.requests[0]?.tools?.map(({ name }) => name) ?? [];
    };
    expect(await offered(auto, 'run')).not.toContain('plan');
    expect(await offered(auto, 'runStream')).toContain('plan');
    expect(await offered({ ...auto, planning: 'off' }, 'runStream')).toEqual(['list_dir']);
    expect(await offered({ ...auto, planningEnabled: false }, 'runStream')).toEqual(['list_dir']);
    expect(await offered({ enabledTools: [] }, 'runStream')).toEqual([]);
  });

  it('is created once, wherever the process dies', async () => {
    const store = await databases.open();
    const STEPS = [...TURN_STEPS, 'storePlan', 'updatePlan'];
    const run = async (at: number, when: 'before' | 'after') => {
      const provider = new PlanningModel(asksForPlan, update(1, 'done'), says('Bread.'));
      const death = dyingAt(at, when, STEPS);
      const options = { store, provider, tools: tools(store), profile: auto };
      const first = new TurnScenario({ ...options, around: death.of });
      await first.start();
      const { head, turnId } = await first.say('Bake', { chatId: `${when}-${at}` });
      await first.run(head).catch(notOfDeath);
      const second = new TurnScenario(options);
      await second.start();
      const resumed = await second.sweep();
      if (resumed !== undefined) await second.run(resumed);
      await Promise.all([first.close(), second.close()]);
      const ready = [...first.events, ...second.events].flatMap((event) =>
        event.type === 'plan_ready' ? [event.plan.id] : [],
      );
      const text = (await store.ledger.turn(turnId))?.final?.content;
      return { seen: death.seen, plans: new Set(ready).size, text };
    };
    const whole = await run(Number.POSITIVE_INFINITY, 'after');
    expect(whole.seen).toContain('storePlan');
    for (const at of whole.seen.keys())
      for (const when of ['before', 'after'] as const)
        expect(await run(at, when), `${when} ${whole.seen[at]}`).toMatchObject({ plans: 1, text: 'Bread.' });
  });
});
