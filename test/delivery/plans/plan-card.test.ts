/** A plan's card: one message, edited in place, right in the end whatever was missed. */
import { describe, expect, it } from 'vitest';
import { MAX_CARDS } from '../../../src/delivery/plans/plan-cards.ts';
import { cancelPlan } from '../../../src/contracts/plan.ts';
import { plan, step, withStatus } from '../../fakes/gateway/shown-plans.ts';
import { buildHouse } from '../setup.ts';

describe('the card of a running plan', () => {
  it('is one message before the answer, edited as the steps go, within the interval of the platform', async () => {
    const house = buildHouse({ maxLength: 2_000, editIntervalMs: 1_000 });
    const turn = house.open('t');
    let now = plan(6);
    house.emit('t', { type: 'plan_ready', plan: now });
    await house.clock.advance(100);
    expect(house.channel.screen('1')[0]).toContain('☐ 1. Do thing');
    for (let index = 0; index < 6; index += 1) {
      for (const status of ['running', 'done'] as const) {
        now = withStatus(now, index, status);
        house.emit('t', { type: 'step_changed', step: now.steps[index]! });
        await house.clock.advance(200);
      }
    }
    house.emit('t', { type: 'plan_completed' });
    house.say('t', 'Here is your trip.');
    await house.clock.advance(5_000);
    const [card, answer] = house.channel.screen('1');
    expect(card).toContain('✔ Completed · 6 of 6 steps done');
    expect(card?.match(/✔ \d\./g)).toHaveLength(6);
    expect(answer).toBe('Here is your trip.');
    expect(house.channel.count('send')).toBe(2);
    expect(house.channel.count('edit')).toBeLessThanOrEqual(7);
    expect([house.channel.early, house.channel.refused]).toEqual([0, 0]);
    await turn.settle();
  });

  it('shows a revised plan whole, why it changed, what is left and what it is about to try (S-24, S-39, S-48)', async () => {
    const house = buildHouse({ maxLength: 2_000 });
    const turn = house.open('t');
    const first = plan(2);
    house.emit('t', { type: 'plan_ready', plan: first });
    const failed = step(0, { status: 'failed', attempts: 1 });
    house.emit('t', { type: 'step_changed', step: failed });
    house.emit('t', { type: 'agent_thinking', step: failed });
    await house.clock.advance(3_000);
    expect(house.channel.screen('1')[0]).toContain('⚡ Step 1 failed; thinking about what to do…');
    const changed = step(0, { description: 'Something else', corrections: 1, revision: 'the site is down' });
    const revised = plan([changed, ...first.steps.slice(1), step(2)]);
    house.emit('t', { type: 'plan_revised', plan: revised, reason: 'the site is down' });
    await house.clock.advance(3_000);
    expect(house.channel.screen('1')[0]).toContain('1. Something else\n↳ the site is down');
    expect(house.channel.screen('1')[0]).toContain('Corrections left: 9 of 10');
    expect(house.channel.screen('1')[0]).not.toContain('thinking');
    house.emit('t', { type: 'retry_attempt', step: { ...changed, attempts: 1, corrections: 2 }, attempt: 2 });
    await house.clock.advance(3_000);
    expect(house.channel.screen('1')[0]).toContain('Step 1 is tried again.');
    expect(house.channel.screen('1')[0]).toContain('Corrections left: 8 of 10');
    house.emit('t', { type: 'plan_cancelled', reason: 'nothing helped' });
    await house.clock.advance(3_000);
    expect(house.channel.screen('1')[0]).toMatch(/✖ Cancelled[\s\S]*nothing helped/);
    expect(house.channel.count('send')).toBe(1);
    await turn.settle();
  });

  it('is edited after a crash, not sent again, also when no event of the plan comes any more', async () => {
    const house = buildHouse({ maxLength: 2_000 });
    house.open('t');
    const before = plan(3);
    house.emit('t', { type: 'plan_ready', plan: before });
    await house.clock.advance(1_000);
    const after = buildHouse({ maxLength: 2_000 });
    const now = withStatus(before, 0, 'done');
    const known = house.parts.get('plan:p') ?? [];
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

  it('leaves the plans of subagents alone', async () => {
    const house = buildHouse({ maxLength: 2_000 });
    const turn = house.open('t');
    house.emit('t', { type: 'plan_ready', plan: plan(2, { id: 'inner' }) }, { agentId: 'a' });
    await house.clock.advance(3_000);
    expect(house.channel.screen('1')).toEqual([]);
    await turn.settle();
  });

  it('still shows its last state when its turn goes to sleep to wait for a human', async () => {
    const house = buildHouse({ maxLength: 2_000, editIntervalMs: 3_000 });
    const turn = house.open('t');
    house.emit('t', { type: 'plan_ready', plan: plan(2) });
    await house.clock.advance(10);
    house.emit('t', { type: 'plan_paused' });
    await turn.settle();
    await house.clock.advance(4_000);
    expect(house.channel.screen('1')[0]).toContain('⏸ Paused');
  });
});

/** Edits of cards, not of answers. */
function cardEdits(house: ReturnType<typeof buildHouse>): number {
  return house.channel.calls.filter(({ kind, part }) => kind === 'edit' && part?.body.text.includes('Plan: '))
    .length;
}

describe('the card at the end of its turn', () => {
  it('is brought to its stored state after the answer, when the edits were held up', async () => {
    const house = buildHouse({ maxLength: 2_000 });
    const turn = house.open('t');
    const made = plan(2);
    house.emit('t', { type: 'plan_ready', plan: made });
    house.say('t', 'Wait');
    await house.clock.advance(2_000);
    house.emit('t', { type: 'step_changed', step: step(0, { status: 'running' }) });
    house.plans.set('t', { ...withStatus(withStatus(made, 0, 'done'), 1, 'done'), state: 'completed' });
    await turn.settle();
    const { value } = await house.deliver('Waited.', { turnId: 't' });
    expect(value?.kind).toBe('finished');
    const [card, answer] = house.channel.screen('1');
    expect(card).toContain('✔ Completed · 2 of 2 steps done');
    expect(answer).toBe('Waited.');
    await house.clock.advance(10_000);
    expect(house.channel.screen('1')[0]).toBe(card);
    expect(house.channel.count('send')).toBe(2);
  });

  it('costs no call when it is right already, and keeps saying why it was cancelled', async () => {
    const house = buildHouse({ maxLength: 2_000 });
    const turn = house.open('t');
    const made = plan(2);
    house.emit('t', { type: 'plan_ready', plan: made });
    house.emit('t', { type: 'plan_cancelled', reason: 'nothing helped' });
    await house.clock.advance(2_000);
    house.plans.set('t', cancelPlan(made, 'nothing helped'));
    await turn.settle();
    const before = cardEdits(house);
    await house.deliver('Sorry.', { turnId: 't' });
    expect(cardEdits(house)).toBe(before);
    expect(house.channel.screen('1')[0]).toContain('nothing helped');
  });

  it('is sent above the answer when it was never seen', async () => {
    const house = buildHouse({ maxLength: 2_000 });
    house.plans.set('t', plan(1));
    await house.deliver('Done.', { turnId: 't' });
    expect(house.channel.screen('1')).toEqual([expect.stringContaining('Plan: '), 'Done.']);
    expect(house.parts.get('plan:p')).toHaveLength(1);
    await house.deliver('Done.', { turnId: 't' });
    expect(house.channel.screen('1').filter((shown) => shown.includes('Plan: '))).toHaveLength(1);
  });

  it.each(['message_gone', 'blocked', 'rejected'] as const)(
    'does not keep the answer back when the platform says %s to it',
    async (code) => {
      const house = buildHouse({ maxLength: 2_000 });
      house.plans.set('t', plan(1));
      house.channel.fault({ code });
      const { value } = await house.deliver('Done.', { turnId: 't' });
      expect(value?.kind).toBe('finished');
      expect(house.channel.screen('1').at(-1)).toBe('Done.');
    },
  );

  it('is forgotten past a bound, and then edited once more', async () => {
    const house = buildHouse({ maxLength: 2_000 });
    const made = plan(1);
    house.emit('t', { type: 'plan_ready', plan: made });
    const turn = house.open('t', '1', [], '', made);
    await house.clock.advance(1_000);
    await turn.settle();
    for (let n = 0; n < MAX_CARDS; n += 1) {
      const other = house.open(`t${n}`, `chat${n}`, [], '', plan(1, { id: `p${n}` }));
      await other.settle();
    }
    house.plans.set('t', made);
    const before = cardEdits(house);
    await house.deliver('Done.', { turnId: 't' });
    expect(cardEdits(house)).toBe(before + 1);
  });
});
