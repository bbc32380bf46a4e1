/** Users and a running plan: Run and Skip, pause and resume, stop, and what needs approval first. */
import { intakeContext } from '../../fakes/gateway/intake.ts';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import type { ApprovalRecord } from '../../../src/protocol/agent/approvals.ts';
import { ToolError } from '../../../src/protocol/errors.ts';
import { actOnPlan } from '../../../src/intake/plans/plan-control.ts';
import type { ExecutionMode } from '../../../src/protocol/agent/plan.ts';
import type { PlanAction, PlanAnswer, PlanRecord } from '../../../src/protocol/agent/plan-store.ts';
import { defineTool, type Tool } from '../../../src/protocol/agent/tool.ts';
import { describeStore, type TestStore } from '../../database.ts';
import { asks, says, ScriptedProvider, type ScriptStep } from '../../fakes/agent/scripted-provider.ts';
import { TurnScenario } from '../../fakes/agent/turn-setup.ts';

const SESSION = 'telegram:42';
const PARKED = { kind: 'parked' };
const parameters = z.strictObject({ word: z.string().default('') });

/** `work` does something, `fail` does not, `wipe` is dangerous; each runs `during` first. */
function toolsOf(done: string[], during: () => Promise<void>): Tool[] {
  const make = (name: string, risk: 'safe' | 'dangerous'): Tool =>
    defineTool({
      name,
      description: `Does what ${name} says.`,
      parameters,
      effect: 'unsafe',
      reach: () => 'session',
      risk: () => risk,
      results: 'operator',
      async execute({ word }: z.infer<typeof parameters>) {
        done.push(`${name} ${word}`.trim());
        await during();
        if (name === 'fail') throw new ToolError('failed', 'It did not work.');
        return { content: `${name} ok` };
      },
    });
  return [make('work', 'safe'), make('fail', 'safe'), make('wipe', 'dangerous')];
}

const planned = (...steps: string[]): ScriptStep[] => [
  says('Some steps.\nREFLECT: no'),
  says(['Steps', ...steps.map((step, n) => `${n + 1}. ${step}`)].join('\n')),
];
const calls = (name: string): ScriptStep => asks([{ name, args: {} }]);

class People {
  readonly scenario: TurnScenario;
  readonly store: TestStore;
  readonly done: string[];
  turnId = '';

  constructor(store: TestStore, scenario: TurnScenario, done: string[]) {
    this.store = store;
    this.scenario = scenario;
    this.done = done;
  }

  async ask(mode: ExecutionMode) {
    const { turnId, outcome } = await this.scenario.ask('Paint the fence', {}, { mode });
    this.turnId = turnId;
    return outcome;
  }

  async resume() {
    return await this.scenario.run(await this.scenario.sweep());
  }

  async plan(): Promise<PlanRecord> {
    const record = await this.store.plans.latestPlan(SESSION);
    if (record === undefined) throw new Error('There is no plan.');
    return record;
  }

  async statuses(): Promise<string[]> {
    return (await this.plan()).plan.steps.map(({ status }) => status);
  }

  async question(): Promise<ApprovalRecord> {
    const [waiting] = await this.store.approvals.pendingApprovals({ session: SESSION, limit: 9 });
    if (waiting === undefined) throw new Error('Nothing waits.');
    return waiting;
  }

  async act(action: PlanAction): Promise<PlanAnswer> {
    const { store } = this;
    const by = { userId: SESSION, owner: true };
    return await actOnPlan(intakeContext(store), await this.plan(), action, { by });
  }

  ends(): string[] {
    return this.scenario.types().filter((type) => type === 'plan_completed' || type === 'plan_cancelled');
  }

  async shown(): Promise<{ content: string; buttons: { label: string }[] }[]> {
    const rows = await this.store.sql<{ message: { content: string; buttons: { label: string }[] } }[]>`
      select payload -> 'message' as message from lane_item where lane like 'out:%' order by seq`;
    return rows.map(({ message }) => message);
  }
}

describeStore('users and a plan', (databases) => {
  async function open(
    steps: ScriptStep[],
    {
      during = async () => undefined,
      approvalMs,
    }: { during?: (people: People) => Promise<void>; approvalMs?: number } = {},
  ): Promise<People> {
    const store = await databases.open();
    const done: string[] = [];
    const provider = new ScriptedProvider(...steps);
    const tools = toolsOf(done, () => during(people));
    const profile = { planningEnabled: true };
    const limits = approvalMs === undefined ? {} : { approvalMs };
    const scenario = new TurnScenario({ store, provider, tools, profile, limits });
    onTestFinished(() => scenario.close());
    await scenario.start();
    const people = new People(store, scenario, done);
    return people;
  }

  it('in teacher mode each step is explained and waits, runs with Run and is skipped with Skip (S-02)', async () => {
    const people = await open([
      ...planned('[TOOL: work] Wash', '[TOOL: work] Sand', '[TOOL: work] Paint'),
      says('First we wash, because paint sticks to clean walls.'),
      calls('work'),
      says('Now we sand.'),
      says('Now we paint.'),
      calls('work'),
      says('You have painted a fence.'),
    ]);
    expect(await people.ask('teacher')).toEqual(PARKED);
    expect(people.done).toEqual([]);
    expect(await people.statuses()).toEqual(['pending', 'pending', 'pending']);
    const asked = await people.question();
    expect(asked.plan).toMatchObject({ stepId: 's1', wait: 'step' });
    expect(people.scenario.events.at(-1)).toMatchObject({
      type: 'approval_needed',
      warningMessage: 'First we wash, because paint sticks to clean walls.',
    });
    const explained = people.scenario.events.filter(
      (event) => 'msgId' in event && event.msgId.includes('.explain.'),
    );
    expect(explained.map(({ type }) => type)).toEqual([
      'thinking_started',
      'thinking_delta',
      'thinking_finished',
    ]);
    const [shown] = await people.shown();
    expect(shown?.content).toMatch(/Next: step 1.*First we wash.*\/run or \/skip/s);
    expect(shown?.buttons.map(({ label }) => label)).toEqual(['Run', 'Skip']);
    expect(await people.act('run')).toEqual({ done: true, text: 'Running the step.' });
    expect(await people.resume()).toEqual(PARKED);
    expect(people.done).toEqual(['work']);
    expect(await people.act('skip')).toEqual({ done: true, text: 'The step was skipped.' });
    expect(await people.resume()).toEqual(PARKED);
    expect((await people.question()).plan).toMatchObject({ stepId: 's3' });
    await people.act('run');
    expect((await people.resume()).kind).toBe('finished');
    expect(people.done).toEqual(['work', 'work']);
    expect(await people.statuses()).toEqual(['done', 'skipped', 'done']);
    expect(people.ends()).toEqual(['plan_completed']);
    const turn = await people.store.ledger.turn(people.turnId);
    expect(turn?.final?.content).toBe('You have painted a fence.');
    expect(await people.act('run')).toEqual({ done: false, text: 'This plan has ended.' });
  });

  it('a step that no one approves in time ends the plan, and the answer reports it (S-36)', async () => {
    const people = await open(
      [...planned('[TOOL: work] Wash', '[TOOL: work] Paint'), says('We wash.'), says('Nobody was there.')],
      { approvalMs: 1 },
    );
    expect(await people.ask('teacher')).toEqual(PARKED);
    await people.store
      .sql`update lane set wake_at = now() - interval '1 second' where key = ${`in:${SESSION}`}`;
    expect((await people.resume()).kind).toBe('finished');
    expect(people.done).toEqual([]);
    expect(people.scenario.events).toContainEqual({
      type: 'plan_cancelled',
      reason: 'Step 1 was not approved in time.',
      why: { key: 'cancelled.not_run', values: { number: 1 } },
    });
  });

  it('a plan pauses before its next step, waits visibly, and continues where it left off (S-40)', async () => {
    let asked: PlanAnswer | undefined;
    const people = await open(
      [...planned('[TOOL: work] Wash', '[TOOL: work] Paint'), calls('work'), calls('work'), says('Painted.')],
      {
        during: async (one) => {
          asked ??= await one.act('pause');
        },
      },
    );
    expect(await people.ask('agentic')).toEqual(PARKED);
    expect(asked).toEqual({ done: true, text: 'The plan will pause before its next step.' });
    expect((await people.plan()).plan.state).toBe('paused');
    expect(people.done).toEqual(['work']);
    expect((await people.shown()).at(-1)?.buttons.map(({ label }) => label)).toEqual(['Resume', 'Stop']);
    expect(await people.act('pause')).toMatchObject({ done: false });
    expect(await people.act('resume')).toEqual({ done: true, text: 'The plan continues.' });
    expect((await people.resume()).kind).toBe('finished');
    expect(people.done).toEqual(['work', 'work']);
    const told = people.scenario
      .types()
      .filter((type) => /^plan_(paused|resumed|completed|cancelled)$/.test(type));
    expect(told).toEqual(['plan_paused', 'plan_resumed', 'plan_completed']);
  });

  it('a paused plan ends when resuming it is denied (S-36)', async () => {
    const people = await open(
      [...planned('[TOOL: work] Wash', '[TOOL: work] Paint'), calls('work'), says('Half painted.')],
      { during: async (one) => void (await one.act('pause')) },
    );
    await people.ask('agentic');
    const { id } = await people.question();
    expect(await people.store.lanes.decide(id, 'denied', SESSION)).toBe(true);
    // A request that arrives between the decision and the turn does not reverse the decision.
    await people.act('resume');
    await people.resume();
    expect(people.ends()).toEqual(['plan_cancelled']);
    expect((await people.plan()).plan).toMatchObject({ state: 'cancelled', reason: 'Stopped.' });
    expect(await people.statuses()).toEqual(['done', 'pending']);
  });

  it('a running step with a request to skip it is not corrected when it fails (S-28)', async () => {
    let answer: PlanAnswer | undefined;
    const people = await open(
      [...planned('[TOOL: fail] Wash', '[TOOL: work] Paint'), calls('fail'), calls('work'), says('Painted.')],
      {
        during: async (one) => {
          answer ??= await one.act('skip');
        },
      },
    );
    await people.ask('agentic');
    expect(answer?.text).toContain('Step 1 is running');
    expect(await people.statuses()).toEqual(['skipped', 'done']);
    expect(people.scenario.types()).not.toContain('agent_thinking');
  });

  it('dangerous steps, including inserted and modified ones, wait for a human and run once when approved (S-45, S-46)', async () => {
    const wipe = { description: 'Make room', tool: 'wipe', args: { word: 'disk' } };
    const repair = { action: 'insert_steps', reason: 'no room', newSteps: [wipe] };
    const people = await open([
      ...planned('[TOOL: fail] Wash'),
      calls('fail'),
      says(JSON.stringify(repair)),
      calls('fail'),
      says(JSON.stringify({ action: 'modify', reason: 'harder', command: { tool: 'wipe', args: {} } })),
      says('Done.'),
    ]);
    expect(await people.ask('agentic')).toEqual(PARKED);
    const revised = people.scenario.events.find((event) => event.type === 'plan_revised');
    expect(revised?.plan.steps[0]).toMatchObject({ id: 'added-1', risk: 'dangerous' });
    const asked = await people.question();
    expect(asked).toMatchObject({ tool: 'wipe', args: { word: 'disk' } });
    expect(asked.plan).toBeUndefined();
    expect(people.done).toEqual(['fail']);
    await people.store.lanes.decide(asked.id, 'approved', SESSION);
    expect(await people.resume()).toEqual(PARKED);
    expect(people.done).toEqual(['fail', 'wipe disk', 'fail']);
    await people.store.lanes.decide((await people.question()).id, 'approved', SESSION);
    expect((await people.resume()).kind).toBe('finished');
    expect(people.done).toEqual(['fail', 'wipe disk', 'fail', 'wipe']);
    expect(await people.statuses()).toEqual(['done', 'done']);
    expect(people.ends()).toEqual(['plan_completed']);
  });

  it('/stop while it waits cancels the plan once and ends the turn (S-36)', async () => {
    const people = await open([...planned('[TOOL: work] Wash', '[TOOL: work] Paint'), says('We wash.')]);
    expect(await people.ask('teacher')).toEqual(PARKED);
    expect(await people.act('stop')).toEqual({ done: true, text: 'The plan is stopped.' });
    await people.resume();
    expect(people.ends()).toEqual(['plan_cancelled']);
    expect((await people.plan()).plan.state).toBe('cancelled');
    expect((await people.store.ledger.turn(people.turnId))?.reason).toBe('stopped');
  });
});
