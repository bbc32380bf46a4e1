/** A plan that is executed and corrected, and its card after every event. */
import { expect, it } from 'vitest';
import type { AgentCorrection } from '../../src/agent/plans/correction.ts';
import type { EventBody } from '../../src/protocol/event.ts';
import { PlanScenario, testPlan } from '../fakes/agent/plans.ts';
import { cardOf, readCard } from '../fakes/gateway/read-card.ts';
import { buildDelivery } from './setup.ts';

const command = { executor: { kind: 'tool', tool: 'danger' }, args: {} } as const;
const fresh = { description: 'Repair it', executor: { kind: 'self' } } as const;
const ACTIONS: Record<AgentCorrection['action'], { correction: AgentCorrection; told: string }> = {
  retry: {
    correction: { action: 'retry', reason: 'it was busy' },
    told: 'ready step step thinking retry step step step step completed',
  },
  modify: {
    correction: { action: 'modify', reason: 'harder', command },
    told: 'ready step step thinking revised step step step step completed',
  },
  insert_steps: {
    correction: { action: 'insert_steps', reason: 'repair first', newSteps: [fresh, fresh] },
    told: 'ready step step thinking revised step step step step step step step step completed',
  },
  skip: {
    correction: { action: 'skip', reason: 'not needed' },
    told: 'ready step step thinking skipped step step completed',
  },
  abort: { correction: { action: 'abort', reason: 'hopeless' }, told: 'ready step step thinking cancelled' },
};
const LABELS: Partial<Record<EventBody['type'], string>> = {
  plan_ready: 'ready',
  plan_revised: 'revised',
  plan_completed: 'completed',
  plan_cancelled: 'cancelled',
  step_changed: 'step',
  step_skipped: 'skipped',
  agent_thinking: 'thinking',
  retry_attempt: 'retry',
};

it.each(Object.values(ACTIONS))(
  'the card shows the stored plan after each event of a plan whose failed step is corrected: $correction.action (S-12, S-35, S-48)',
  async ({ correction, told }) => {
    const gateway = buildDelivery({ maxLength: 2_000 });
    const turn = gateway.open('t');
    let failed = false;
    const scenario = new PlanScenario({
      plan: testPlan(2),
      step: () => {
        const isError = !failed;
        failed = true;
        return { content: 'x', isError };
      },
      correct: () => correction,
    });
    const seen: string[] = [];
    const notes: (string | undefined)[] = [undefined];
    const look = async (event: EventBody): Promise<void> => {
      gateway.emit('t', event);
      await gateway.clock.advance(2_000);
      const shown = gateway.channel.calls.findLast(({ part }) => part !== undefined)?.part;
      const { note, ...card } = readCard(shown?.body.plain ?? '');
      expect(card).toEqual(cardOf(scenario.stored));
      if (note !== notes.at(-1)) notes.push(note);
      seen.push(LABELS[event.type] ?? event.type);
    };
    await look({ type: 'plan_ready', plan: scenario.stored });
    scenario.onEvent = look;
    await scenario.run();
    expect(seen.join(' ')).toBe(told);
    const again = correction.action === 'retry' ? ['Retrying step 1.'] : [];
    expect(notes).toEqual([undefined, '⚡ Step 1 failed; thinking about what to do…', ...again, undefined]);
    expect(gateway.channel.count('send')).toBe(1);
    await turn.settle();
  },
);
