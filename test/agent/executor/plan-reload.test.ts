/** A plan whose profile is reloaded while it waits: what its later steps find then. */
import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool, type Tool } from '../../../src/protocol/agent/tool.ts';
import { describeStore } from '../../database.ts';
import { asks, says, ScriptedProvider } from '../../fakes/agent/scripted-provider.ts';
import { openScenario } from '../../fakes/agent/turn-setup.ts';

const SESSION = 'telegram:42';

function toolOf(name: string, ran: string[], during: () => Promise<void> = async () => undefined): Tool {
  return defineTool({
    name,
    description: `Does what ${name} says.`,
    parameters: z.strictObject({}),
    effect: 'unsafe',
    reach: () => 'session',
    risk: () => 'safe',
    results: 'operator',
    async execute() {
      ran.push(name);
      await during();
      return { content: `${name} ok` };
    },
  });
}

describeStore('a plan whose profile is reloaded while it is paused', (databases) => {
  it('fails the step whose tool is gone, without a call, and corrects it with the tools that exist (S-26, N-73)', async () => {
    const store = await databases.open();
    const ran: string[] = [];
    const pause = async (): Promise<void> => {
      const record = await store.plans.latestPlan(SESSION);
      await store.plans.requestOnPlan(record?.plan.id ?? '', { pause: true });
    };
    const modify = { action: 'modify', reason: 'the brush is gone', command: { tool: 'roll', args: {} } };
    const provider = new ScriptedProvider(
      says('Two steps.\nREFLECT: no'),
      says('Steps\n1. [TOOL: wash] Wash\n2. [TOOL: brush] Paint'),
      asks([{ name: 'wash', args: {} }]),
      says(JSON.stringify(modify)),
      says('Painted.'),
    );
    const tools = [toolOf('wash', ran, pause), toolOf('brush', ran), toolOf('roll', ran)];
    const scenario = await openScenario(databases, {
      store,
      provider,
      tools,
      profile: { planningEnabled: true },
    });
    const asked = await scenario.ask('Paint the fence', {}, { mode: 'agentic' });
    expect(asked.outcome).toEqual({ kind: 'parked' });
    scenario.profile = { ...scenario.profile, enabledTools: ['wash', 'roll'] };
    const [question] = await store.approvals.pendingApprovals({ session: SESSION, limit: 1 });
    await store.lanes.decide(question?.id ?? '', 'approved', SESSION);
    expect(await scenario.run(await scenario.sweep())).toMatchObject({ kind: 'finished' });
    expect(ran).toEqual(['wash', 'roll']);
    const correction = provider.requests.at(-2)?.messages.at(-1)?.content ?? '';
    expect(correction).toContain('The tool "brush" no longer exists.');
    expect(correction).not.toContain('- brush:');
    const { plan } = (await store.plans.latestPlan(SESSION)) ?? {};
    expect(plan).toMatchObject({
      state: 'completed',
      steps: [
        { status: 'done' },
        { status: 'done', attempts: 2, corrections: 1, revision: 'the brush is gone' },
      ],
    });
  });
});
