/** A plan's card: one message, edited in place, and correct in the end whatever updates were missed. */
import { describe, expect, it } from 'vitest';
import { MAX_CARDS } from '../../src/delivery/plan-card.ts';
import { cancelPlan } from '../../src/protocol/agent/plan.ts';
import { plan, step, withStatus } from '../fakes/gateway/shown-plans.ts';
import { buildDelivery } from './setup.ts';

describe('the card of a running plan', () => {
  it('shows that it ended where the answer came before its last step', async () => {
    const gateway = buildDelivery({ maxLength: 2_000, editIntervalMs: 1_000 });
    const turn = gateway.open('t');
    const made = plan(5);
    gateway.emit('t', { type: 'plan_ready', plan: made });
    for (const step of made.steps.slice(0, 3))
      gateway.emit('t', { type: 'step_changed', step: { ...step, status: 'done' } });
    gateway.emit('t', { type: 'plan_completed' });
    await gateway.clock.advance(5_000);
    expect(gateway.channel.screen('1')[0]).toContain('■ Ended · 3 of 5 steps done');
    await turn.settle();
  });

  it('is one message before the answer, edited as steps change, at most once per edit interval', async () => {
    const gateway = buildDelivery({ maxLength: 2_000, editIntervalMs: 1_000 });
    const turn = gateway.open('t');
    let now = plan(6);
    gateway.emit('t', { type: 'plan_ready', plan: now });
    await gateway.clock.advance(100);
    expect(gateway.channel.screen('1')[0]).toContain('☐ 1. Do thing');
    for (let index = 0; index < 6; index += 1) {
      for (const status of ['running', 'done'] as const) {
        now = withStatus(now, index, status);
        gateway.emit('t', { type: 'step_changed', step: now.steps[index]! });
        await gateway.clock.advance(200);
      }
    }
    gateway.emit('t', { type: 'plan_completed' });
    gateway.say('t', 'Here is your trip.');
    await gateway.clock.advance(5_000);
    const [card, answer] = gateway.channel.screen('1');
    expect(card).toContain('✔ Completed · 6 of 6 steps done');
    expect(card?.match(/✔ \d\./g)).toHaveLength(6);
    expect(answer).toBe('Here is your trip.');
    expect(gateway.channel.count('send')).toBe(2);
    expect(gateway.channel.count('edit')).toBeLessThanOrEqual(7);
    expect([gateway.channel.early, gateway.channel.refused]).toEqual([0, 0]);
    await turn.settle();
  });

  it('shows a revised plan in full: why it changed, what is left and what is tried next (S-24, S-39, S-48)', async () => {
    const gateway = buildDelivery({ maxLength: 2_000 });
    const turn = gateway.open('t');
    const first = plan(2);
    gateway.emit('t', { type: 'plan_ready', plan: first });
    const failed = step(0, { status: 'failed', attempts: 1 });
    gateway.emit('t', { type: 'step_changed', step: failed });
    gateway.emit('t', { type: 'agent_thinking', step: failed });
    await gateway.clock.advance(3_000);
    expect(gateway.channel.screen('1')[0]).toContain('⚡ Step 1 failed; thinking about what to do…');
    const changed = step(0, { description: 'Something else', corrections: 1, revision: 'the site is down' });
    const revised = plan([changed, ...first.steps.slice(1), step(2)]);
    gateway.emit('t', { type: 'plan_revised', plan: revised, reason: 'the site is down' });
    await gateway.clock.advance(3_000);
    expect(gateway.channel.screen('1')[0]).toContain('1. Something else\n↳ the site is down');
    expect(gateway.channel.screen('1')[0]).toContain('Corrections left: 9 of 10');
    expect(gateway.channel.screen('1')[0]).not.toContain('thinking');
    gateway.emit('t', {
      type: 'retry_attempt',
      step: { ...changed, attempts: 1, corrections: 2 },
      attempt: 2,
    });
    await gateway.clock.advance(3_000);
    expect(gateway.channel.screen('1')[0]).toContain('Retrying step 1.');
    expect(gateway.channel.screen('1')[0]).toContain('Corrections left: 8 of 10');
    gateway.emit('t', { type: 'plan_cancelled', reason: 'nothing helped' });
    await gateway.clock.advance(3_000);
    expect(gateway.channel.screen('1')[0]).toMatch(/✖ Cancelled[\s\S]*nothing helped/);
    expect(gateway.channel.count('send')).toBe(1);
    await turn.settle();
  });

  it('is edited after a crash, not sent again, even when no further plan event follows', async () => {
    const gateway = buildDelivery({ maxLength: 2_000 });
    gateway.open('t');
    const before = plan(3);
    gateway.emit('t', { type: 'plan_ready', plan: before });
    await gateway.clock.advance(1_000);
    const after = buildDelivery({ maxLength: 2_000 });
    const now = withStatus(before, 0, 'done');
    const known = gateway.parts.get('plan:p') ?? [];
    const sent = await after.channel.send({
      channel: 'fake',
      chatId: '1',
      nonce: 'x',
      buttons: [],
      body: { text: 'card', plain: 'card', length: 4 },
    });
    expect(known).toHaveLength(1);
    after.parts.set('plan:p', [sent]);
    const turn = after.open('t', '1', [], '', now);
    await after.clock.advance(2_000);
    expect(after.channel.screen('1')).toHaveLength(1);
    expect(after.channel.screen('1')[0]).toContain('✔ 1. Do thing number 1');
    await turn.settle();
  });

  it('ignores the plans of subagents', async () => {
    const gateway = buildDelivery({ maxLength: 2_000 });
    const turn = gateway.open('t');
    gateway.emit('t', { type: 'plan_ready', plan: plan(2, { id: 'inner' }) }, { agentId: 'a' });
    await gateway.clock.advance(3_000);
    expect(gateway.channel.screen('1')).toEqual([]);
    await turn.settle();
  });

  it('still shows its last state when its turn is parked', async () => {
    const gateway = buildDelivery({ maxLength: 2_000, editIntervalMs: 3_000 });
    const turn = gateway.open('t');
    gateway.emit('t', { type: 'plan_ready', plan: plan(2) });
    await gateway.clock.advance(10);
    gateway.emit('t', { type: 'plan_paused' });
    await turn.settle();
    await gateway.clock.advance(4_000);
    expect(gateway.channel.screen('1')[0]).toContain('⏸ Paused');
  });
});

/** Edits of cards, not of answers. */
function cardEdits(gateway: ReturnType<typeof buildDelivery>): number {
  return gateway.channel.calls.filter(
    ({ kind, part }) => kind === 'edit' && part?.body.text.includes('Plan: '),
  ).length;
}

describe('the card at the end of its turn', () => {
  it('is edited to its stored state after the answer, when edits were delayed', async () => {
    const gateway = buildDelivery({ maxLength: 2_000 });
    const turn = gateway.open('t');
    const made = plan(2);
    gateway.emit('t', { type: 'plan_ready', plan: made });
    gateway.say('t', 'Wait');
    await gateway.clock.advance(2_000);
    gateway.emit('t', { type: 'step_changed', step: step(0, { status: 'running' }) });
    gateway.plans.set('t', { ...withStatus(withStatus(made, 0, 'done'), 1, 'done'), state: 'completed' });
    await turn.settle();
    const { value } = await gateway.deliver('Waited.', { turnId: 't' });
    expect(value?.kind).toBe('finished');
    const [card, answer] = gateway.channel.screen('1');
    expect(card).toContain('✔ Completed · 2 of 2 steps done');
    expect(answer).toBe('Waited.');
    await gateway.clock.advance(10_000);
    expect(gateway.channel.screen('1')[0]).toBe(card);
    expect(gateway.channel.count('send')).toBe(2);
  });

  it('causes no call when it is already correct, and still shows why it was cancelled', async () => {
    const gateway = buildDelivery({ maxLength: 2_000 });
    const turn = gateway.open('t');
    const made = plan(2);
    gateway.emit('t', { type: 'plan_ready', plan: made });
    gateway.emit('t', { type: 'plan_cancelled', reason: 'nothing helped' });
    await gateway.clock.advance(2_000);
    gateway.plans.set('t', cancelPlan(made, 'nothing helped'));
    await turn.settle();
    const before = cardEdits(gateway);
    await gateway.deliver('Sorry.', { turnId: 't' });
    expect(cardEdits(gateway)).toBe(before);
    expect(gateway.channel.screen('1')[0]).toContain('nothing helped');
  });

  it('is sent before the answer if it was never sent', async () => {
    const gateway = buildDelivery({ maxLength: 2_000 });
    gateway.plans.set('t', plan(1));
    await gateway.deliver('Done.', { turnId: 't' });
    expect(gateway.channel.screen('1')).toEqual([expect.stringContaining('Plan: '), 'Done.']);
    expect(gateway.parts.get('plan:p')).toHaveLength(1);
    await gateway.deliver('Done.', { turnId: 't' });
    expect(gateway.channel.screen('1').filter((shown) => shown.includes('Plan: '))).toHaveLength(1);
  });

  it.each(['message_gone', 'blocked', 'rejected'] as const)(
    'does not delay the answer when the platform refuses it with %s',
    async (code) => {
      const gateway = buildDelivery({ maxLength: 2_000 });
      gateway.plans.set('t', plan(1));
      gateway.channel.failure({ code });
      const { value } = await gateway.deliver('Done.', { turnId: 't' });
      expect(value?.kind).toBe('finished');
      expect(gateway.channel.screen('1').at(-1)).toBe('Done.');
    },
  );

  it('is forgotten past a limit, and then edited again', async () => {
    const gateway = buildDelivery({ maxLength: 2_000 });
    const made = plan(1);
    gateway.emit('t', { type: 'plan_ready', plan: made });
    const turn = gateway.open('t', '1', [], '', made);
    await gateway.clock.advance(1_000);
    await turn.settle();
    for (let n = 0; n < MAX_CARDS; n += 1) {
      const other = gateway.open(`t${n}`, `chat${n}`, [], '', plan(1, { id: `p${n}` }));
      await other.settle();
    }
    gateway.plans.set('t', made);
    const before = cardEdits(gateway);
    await gateway.deliver('Done.', { turnId: 't' });
    expect(cardEdits(gateway)).toBe(before + 1);
  });
});
