/** A process that dies while a turn plans, or later: the plan is created once, and the resumed turn follows it. */
import { expect, it } from 'vitest';
import { LaneAbort } from '../../../src/protocol/bus.ts';
import type { EventBody } from '../../../src/protocol/event.ts';
import { listDir } from '../../../src/tools/files/list-dir.ts';
import { createTodoTool } from '../../../src/tools/todo.ts';
import { describeStore, type TestStore } from '../../database.ts';
import { ANALYSIS, only, PLAN, planned, PlanningModel, update } from '../../fakes/gateway/planned-turn.ts';
import { dyingAt, notOfDeath, SimulatedCrash, TURN_STEPS } from '../../fakes/agent/dying-store.ts';
import {
  asks,
  fallsSilent,
  says,
  SCRIPT_USAGE,
  ScriptedProvider,
} from '../../fakes/agent/scripted-provider.ts';
import { TurnScenario } from '../../fakes/agent/turn-setup.ts';

const STEPS = [...TURN_STEPS, 'storePlan', 'updatePlan'];
const ANSWER = 'I begin.\n\nBread.';

/** Runs one planned turn that dies at a given point, then resumes it in a new process of the same instance. */
async function dieAndResume(store: TestStore, at: number, when: 'before' | 'after') {
  const provider = new PlanningModel(update(1, 'done', 'I begin.'), update(2, 'done'), says('Bread.'));
  const tools = [listDir, createTodoTool(store.todos)];
  const death = dyingAt(at, when, STEPS);
  const chatId = `${when}-${at}`;
  const first = new TurnScenario({ store, provider, tools, profile: planned, around: death.of });
  await first.start();
  const { head, turnId } = await first.say('Bake', { chatId });
  await first.run(head).catch(notOfDeath);
  const second = new TurnScenario({ store, provider, tools, profile: planned });
  await second.start();
  const resumed = await second.sweep();
  if (resumed !== undefined) await second.run(resumed);
  await Promise.all([first.close(), second.close()]);
  const events = [...first.events, ...second.events];
  const session = `telegram:${chatId}` as const;
  return { seen: death.seen, died: death.died(), provider, turnId, session, events, first, second };
}

type Run = Awaited<ReturnType<typeof dieAndResume>>;

const plansReady = (events: EventBody[]): string[] =>
  events.flatMap((event) => (event.type === 'plan_ready' ? [event.plan.id] : []));

describeStore('a planned turn whose process dies', (databases) => {
  it('has one plan, one card and one todo list, wherever it died, and does not plan again once it has them (N-25, N-26, N-27)', async () => {
    const store = await databases.open();
    const whole = await dieAndResume(store, Number.POSITIVE_INFINITY, 'after');
    expect(new Set(whole.seen)).toEqual(new Set(STEPS));
    const stored = whole.seen.indexOf('storePlan');
    const failures: string[] = [];
    for (const at of whole.seen.keys()) {
      for (const when of ['before', 'after'] as const) {
        const run = await dieAndResume(store, at, when);
        const planCalls = at < stored || (at === stored && when === 'before') ? [2, 4] : [2];
        const found = [...(await errorsFound(store, run, planCalls))];
        failures.push(...found.map((failure) => `${when} ${whole.seen[at]} (${at}): ${failure}`));
      }
    }
    expect(failures).toEqual([]);
  });

  it.each([
    ['found that it needs none', 'DIRECT', 1],
    ['wrote none that can be read', 'I would rather not.', 2],
  ])(
    'plans once where its planning %s, even though its process dies before the answer (N-15, N-29)',
    async (_, said, calls) => {
      const store = await databases.open();
      const planning = calls === 1 ? [says(said)] : [says(ANALYSIS), says(said)];
      const look = asks([{ name: 'list_dir', args: { path: '.' } }]);
      const provider = new ScriptedProvider(...planning, look, says('Bread.'));
      const death = dyingAt(0, 'before', ['journalAnswer']);
      const options = { store, provider, tools: [listDir], profile: planned };
      const first = new TurnScenario({ ...options, around: death.of });
      await first.start();
      const { head, turnId } = await first.say('Bake');
      await first.run(head).catch(notOfDeath);
      const second = new TurnScenario(options);
      await second.start();
      await second.run(await second.sweep());
      const turn = await store.ledger.turn(turnId);
      expect(turn?.final?.content).toBe('Bread.');
      expect(turn?.usage?.completionTokens).toBe((calls + 1) * SCRIPT_USAGE.completionTokens);
      await second.close();
    },
  );

  it('plans again when it was shut down during planning, and stored nothing of the first attempt', async () => {
    const store = await databases.open();
    const script = [says(ANALYSIS), fallsSilent('1. Kn'), says(ANALYSIS), says(PLAN), says('Bread.')];
    const provider = new ScriptedProvider(...script);
    const scenario = new TurnScenario({ store, provider, tools: [listDir], profile: planned });
    await scenario.start();
    const { head, turnId } = await scenario.say('Bake');
    const shutdown = new AbortController();
    const running = scenario.run(head, shutdown.signal);
    await provider.silence();
    shutdown.abort(new LaneAbort('shutdown'));
    expect(await running).toEqual({ kind: 'released' });
    expect(await store.plans.latestPlan('telegram:42')).toBeUndefined();
    if (head !== undefined) await store.lanes.release(head, { delayMs: 0, attempt: false });
    await scenario.run(await scenario.sweep());
    expect((await store.ledger.turn(turnId))?.final?.content).toBe('Bread.');
    expect(only(scenario.events, 'plan_ready')).toHaveLength(1);
    await scenario.close();
  });

  it('plans nothing for a turn that was stopped while its node was dead (N-43)', async () => {
    const store = await databases.open();
    const provider = new ScriptedProvider(says(ANALYSIS), says(PLAN));
    const first = new TurnScenario({
      store,
      provider,
      profile: planned,
      around: dyingAt(1, 'before', STEPS).of,
    });
    await first.start();
    const { head, turnId } = await first.say('Bake');
    await expect(first.run(head)).rejects.toThrow(SimulatedCrash);
    await store.lanes.stop('telegram:42', { fresh: false });
    const second = new TurnScenario({ store, provider, profile: planned });
    await second.start();
    await second.run(await second.sweep());
    expect(await store.ledger.turn(turnId)).toMatchObject({ reason: 'stopped' });
    expect(provider.requests).toHaveLength(2);
    await second.close();
  });
});

async function errorsFound(store: TestStore, run: Run, planCalls: number[]): Promise<string[]> {
  const turn = await store.ledger.turn(run.turnId);
  const messages = await store.ledger.messages(run.session, { limit: 20 });
  const record = await store.plans.latestPlan(run.session);
  const todos = await store.todos.todos(run.session);
  const [{ plans } = { plans: 0 }] = await store.sql<{ plans: number }[]>`
    select count(*)::int as plans from plan where session = ${run.session}`;
  const costs = await store.sql`select 1 from usage where turn_id = ${run.turnId} and purpose = 'plan'`;
  const ready = plansReady(run.events);
  const endsOf = ({ events }: TurnScenario): number =>
    only(events, 'plan_completed', 'plan_cancelled').length;
  const statuses = todos.map(({ status }) => status).join();
  const resumed = run.died && turn?.reason === 'completed' && run.second.events.length > 0;
  const failures: (string | false)[] = [
    !run.died && 'did not die',
    turn?.final?.content !== ANSWER && `ended as ${turn?.reason}: ${turn?.final?.content}`,
    run.second.shown(run.events) !== ANSWER && `showed ${run.second.shown(run.events)}`,
    plans !== 1 && `${plans} plans`,
    messages.filter(({ isPlan }) => isPlan).length !== 1 && 'not one card',
    costs.length !== 1 && `${costs.length} rows of cost`,
    statuses !== 'done,done,pending' && `todos ${statuses}`,
    record?.plan.steps.map(({ status }) => status).join() !== statuses && 'the plan is not as its list',
    record?.plan.state !== 'completed' && `the plan is ${record?.plan.state}`,
    !planCalls.includes(run.provider.planningCalls) && `planned with ${run.provider.planningCalls} calls`,
    new Set(ready).size !== 1 && `showed ${ready.length} plans`,
    ready[0] !== record?.plan.id && 'showed another plan than it kept',
    resumed && plansReady(run.second.events).length !== 1 && 'did not show the plan again',
    endsOf(run.first) > 1 && `${endsOf(run.first)} ends of the plan before the death`,
    // A reader that watches only the resumed run also sees the end, exactly once.
    resumed && endsOf(run.second) !== 1 && `${endsOf(run.second)} ends of the plan after the death`,
  ];
  return failures.filter((failure) => failure !== false);
}
