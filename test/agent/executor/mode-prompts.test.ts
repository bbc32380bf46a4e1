/** The prompt of each mode, and which model calls include it; `planner` is tested with the planner. */
import { intakeContext } from '../../fakes/gateway/intake.ts';
import { expect, it, onTestFinished } from 'vitest';
import { EXPLAIN_PROMPT, modePrompt } from '../../../src/agent/plans/step-prompt.ts';
import { type ExecutionMode, MODES } from '../../../src/protocol/agent/plan.ts';
import { actOnPlan } from '../../../src/intake/plans/plan-control.ts';
import { describeStore, type TestDatabases } from '../../database.ts';
import { says, ScriptedProvider, type ScriptStep } from '../../fakes/agent/scripted-provider.ts';
import { TurnScenario } from '../../fakes/agent/turn-setup.ts';

it('has a separate prompt for each mode (S-44)', () => {
  expect(Object.fromEntries(MODES.map((mode) => [mode, modePrompt(mode)]))).toMatchInlineSnapshot(`
    {
      "agentic": "A plan is carried out step by step without anyone watching. Each step is given to you alone, with what came before it. Do the step completely, check what you did, and report failures as they are: they are repaired elsewhere.",
      "planner": "You follow a plan of your own. Carry its steps out in their order, keep the todo list up to date, and when a step fails, say why, then repair it or change the rest of the plan.",
      "teacher": "You teach while a plan is carried out: the user allows each step. Do only the step that was allowed, and explain in plain words what was done, why, and what can be learned from it.",
    }
  `);
  expect(new Set(MODES.map(modePrompt)).size).toBe(3);
});

/** A one-step plan that the model carries out itself, with the calls that follow it. */
async function openPlanOfOneStep(databases: TestDatabases, ...afterPlan: ScriptStep[]) {
  const analysis = says('It takes a step.\nREFLECT: no');
  const provider = new ScriptedProvider(analysis, says('Steps\n1. [SELF] Compare'), ...afterPlan);
  const store = await databases.open();
  const profile = { planningEnabled: true, iterationBudgetEnabled: false };
  const scenario = new TurnScenario({ store, provider, profile });
  onTestFinished(() => scenario.close());
  await scenario.start();
  /** For each model call, whether its system prompt ends with the prompt of the mode. */
  const callsWith = (mode: ExecutionMode) =>
    provider.requests.map(({ messages }) => messages[0]?.content.endsWith(modePrompt(mode)));
  return { store, scenario, provider, callsWith };
}

describeStore('the prompt of a mode', (databases) => {
  it('reaches the model with each step of agentic mode, and with no other call (S-44)', async () => {
    const { scenario, callsWith } = await openPlanOfOneStep(databases, says('Compared.'), says('Done.'));
    await scenario.ask('Compare them', {}, { mode: 'agentic' });
    expect(callsWith('agentic')).toEqual([false, false, true, false]);
  });

  it('reaches the model with each step of teacher mode, after its explanation (S-44)', async () => {
    const script = [says('It compares.'), says('Compared.'), says('Done.')];
    const { store, scenario, provider, callsWith } = await openPlanOfOneStep(databases, ...script);
    await scenario.ask('Compare them', {}, { mode: 'teacher' });
    const session = 'telegram:42';
    const plan = await store.plans.latestPlan(session);
    if (plan === undefined) throw new Error('There is no plan.');
    await actOnPlan(intakeContext(store), plan, 'run', { by: { userId: session, owner: true } });
    await scenario.run(await scenario.sweep());
    expect(callsWith('teacher')).toEqual([false, false, false, true, false]);
    expect(provider.requests[2]?.messages[0]?.content).toBe(EXPLAIN_PROMPT);
  });
});
