/** The buttons under a plan's card: only those with an effect, and none once the plan has ended. */
import { describe, expect, it } from 'vitest';
import { planButtons } from '../../src/delivery/render-plan.ts';
import { cancelPlan, type ExecutionMode, type Plan } from '../../src/protocol/agent/plan.ts';
import { plan, step, withStatus } from '../fakes/gateway/shown-plans.ts';
import { buildDelivery } from './setup.ts';

const labels = (of: Plan): string[] => planButtons(of).map(({ label }) => label);
const running = (mode: ExecutionMode): Plan => withStatus(plan(3, { mode }), 0, 'done');
const agentic = plan(2, { mode: 'agentic' });

describe('the buttons of a plan', () => {
  it('pause the plan, skip the next or running step, and stop the plan', () => {
    expect(labels(running('agentic'))).toEqual(['Pause', 'Skip step 2', 'Stop']);
    const [, skip] = planButtons(running('agentic'));
    expect(skip?.value).toBe('plan-skip:p:s1');
    expect(labels(withStatus(plan(1, { mode: 'agentic' }), 0, 'done'))).toEqual(['Pause', 'Stop']);
  });

  it.each(['planner', 'teacher'] as const)(
    'only stop it in %s mode: the others have no effect there, or have their own question (S-02)',
    (mode) => {
      expect(labels(running(mode))).toEqual(['Stop']);
    },
  );

  it('are absent while it is paused, because its question has them, and once it has ended', () => {
    expect(labels({ ...agentic, state: 'paused' })).toEqual([]);
    expect(labels({ ...agentic, state: 'completed' })).toEqual([]);
    expect(labels(cancelPlan(agentic, 'Stopped.'))).toEqual([]);
  });
});

describe('a card with buttons', () => {
  it('has the current buttons, and is edited when only they change', async () => {
    const gateway = buildDelivery({ maxLength: 2_000 });
    const turn = gateway.open('t');
    gateway.emit('t', { type: 'plan_ready', plan: agentic });
    await gateway.clock.advance(2_000);
    expect(gateway.channel.buttons('1')).toEqual([['Pause', 'Skip step 1', 'Stop']]);
    const edits = gateway.channel.count('edit');
    const steps = [step(0, { id: 'other' }), step(1)];
    gateway.emit('t', { type: 'plan_revised', plan: plan(steps, { mode: 'agentic' }), reason: 'same words' });
    await gateway.clock.advance(2_000);
    expect(gateway.channel.count('edit')).toBe(edits + 1);
    const shown = gateway.channel.calls.findLast(({ kind }) => kind === 'edit')?.part?.buttons;
    expect(shown?.map(({ value }) => value)).toContain('plan-skip:p:other');
    gateway.emit('t', { type: 'plan_paused' });
    await gateway.clock.advance(2_000);
    expect(gateway.channel.buttons('1')).toEqual([[]]);
    await turn.settle();
  });

  it.each([
    ['completed', { ...agentic, state: 'completed' }],
    ['cancelled', cancelPlan(agentic, 'Stopped.')],
    // Its turn died, and nothing could report it.
    ['never ended', agentic],
  ] as const)('loses them with the delivery of the answer: %s', async (_, stored) => {
    const gateway = buildDelivery({ maxLength: 2_000 });
    const turn = gateway.open('t');
    gateway.emit('t', { type: 'plan_ready', plan: agentic });
    await gateway.clock.advance(2_000);
    gateway.plans.set('t', stored);
    await turn.settle();
    await gateway.deliver('Done.', { turnId: 't' });
    expect(gateway.channel.buttons('1')).toEqual([[], []]);
    expect(gateway.channel.count('send')).toBe(2);
  });

  it('loses them after a crash as well, when only the answer is delivered again', async () => {
    const gateway = buildDelivery({ maxLength: 2_000 });
    gateway.open('t');
    gateway.emit('t', { type: 'plan_ready', plan: agentic });
    await gateway.clock.advance(2_000);
    // The next process knows about the card only what was stored.
    const after = buildDelivery({ maxLength: 2_000 });
    const sent = await after.channel.send({
      channel: 'fake',
      chatId: '1',
      nonce: 'x',
      buttons: planButtons(agentic),
      body: { text: 'card', plain: 'card', length: 4 },
    });
    after.parts.set('plan:p', [sent]);
    after.plans.set('t', cancelPlan(agentic, 'Stopped.'));
    await after.deliver('Stopped.', { turnId: 't' });
    expect(after.channel.buttons('1')).toEqual([[], []]);
    expect(after.channel.screen('1')[0]).toContain('Cancelled');
  });
});
