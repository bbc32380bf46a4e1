/** A turn that another process held before: what it left on screen, and a last call of it that arrives late. */
import { describe, expect, it } from 'vitest';
import { LATE_CALL_MS } from '../../../src/delivery/live/calls.ts';
import type { Channel } from '../../../src/protocol/channel.ts';
import { notedLength } from '../../../src/delivery/live/live-message.ts';
import { plan, withStatus } from '../../fakes/gateway/shown-plans.ts';
import { buildDelivery } from '../setup.ts';

const PLACE = [{ id: 'm1' }];

/** A chat in which another process has shown a text; the turn is open here, and shows all of its answer. */
async function takenOver(byAnother: boolean) {
  const gateway = buildDelivery();
  await gateway.channel.send(gateway.part('Hello, I was'));
  gateway.parts.set('t', PLACE);
  const turn = gateway.open('t', '1', PLACE, '', undefined, byAnother);
  gateway.say('t', 'Hello, all of it.');
  await gateway.clock.advance(5_000);
  await turn.settle();
  expect(gateway.channel.screen('1')).toEqual(['Hello, all of it.']);
  return gateway;
}

/** The turn has ended with this answer on another node. */
function endTurn({ turns }: ReturnType<typeof buildDelivery>, content: string): void {
  const final = { content, isError: false, seq: 2, turnId: 't', isPlan: false };
  turns.set('t', {
    session: 'fake:1',
    state: 'done',
    reason: 'completed',
    final: { ...final, role: 'assistant', createdAt: new Date(0) },
  });
}

it('is shown again at its end: a late edit by the other process does not stay', async () => {
  const gateway = await takenOver(true);
  await gateway.channel.edit?.(PLACE[0]!, gateway.part('Hello, I was paused'));
  await gateway.deliver('Hello, all of it.', { turnId: 't' });
  expect(gateway.channel.screen('1')).toEqual(['Hello, all of it.']);
});

it('is not shown again if no other process has held it', async () => {
  const gateway = await takenOver(false);
  const edits = gateway.channel.count('edit');
  await gateway.deliver('Hello, all of it.', { turnId: 't' });
  expect(gateway.channel.count('edit')).toBe(edits);
});

describe('a call that a paused process made', () => {
  const FINAL = 'Hello, all of it.';

  /** A growing reply whose edit is held back; `release` lets the platform accept it. */
  async function paused() {
    const gateway = buildDelivery();
    const { channel } = gateway;
    const turn = gateway.open('t');
    gateway.say('t', 'Hello, I was about to say something long.');
    await gateway.clock.advance(5_000);
    const edit = channel.edit?.bind(channel);
    const { promise, resolve: release } = Promise.withResolvers<void>();
    const held: NonNullable<Channel['edit']> = async (sent, part) => {
      await promise;
      return (await edit?.(sent, part)) ?? sent;
    };
    Object.assign(channel, { edit: held });
    gateway.say('t', ' And more of it.');
    await gateway.clock.advance(1_500);
    /** What another node does in the meantime. */
    const finish = async () => {
      endTurn(gateway, FINAL);
      await edit?.(gateway.parts.get('t')?.[0] ?? { id: '' }, gateway.part(FINAL));
    };
    return { gateway, turn, release, finish };
  }

  it('and that arrives after the final text of another node causes that text to be delivered again', async () => {
    const { gateway, turn, release, finish } = await paused();
    await finish();
    expect(gateway.channel.screen('1')).toEqual([FINAL]);
    const winLease = gateway.loseLease();
    release();
    await gateway.clock.advance(100);
    await turn.settle();
    winLease();
    expect(gateway.channel.screen('1')).not.toEqual([FINAL]);
    expect(gateway.queued).toMatchObject([{ ref: 't', message: { content: FINAL, chatId: '1' } }]);
    await gateway.deliver(FINAL, { turnId: 't' });
    expect(gateway.channel.screen('1')).toEqual([FINAL]);
  });

  it('is also checked when it took so long that the lease may have been lost and won again', async () => {
    const { gateway, turn, release, finish } = await paused();
    await finish();
    await gateway.clock.advance(LATE_CALL_MS + 1);
    release();
    await gateway.clock.advance(100);
    await turn.settle();
    expect(gateway.queued).toHaveLength(1);
  });

  it('is also checked when the process has a new lease by then, however short the call was', async () => {
    const { gateway, turn, release, finish } = await paused();
    await finish();
    const winLease = gateway.loseLease();
    winLease();
    release();
    await gateway.clock.advance(100);
    await turn.settle();
    expect(gateway.queued).toHaveLength(1);
  });

  it('has no effect on a turn that is not over: its final text comes later', async () => {
    const { gateway, turn, release } = await paused();
    gateway.loseLease();
    release();
    await gateway.clock.advance(100);
    await turn.settle();
    expect(gateway.queued).toEqual([]);
  });

  it('and that ended in time requires nothing', async () => {
    const { gateway, turn, release, finish } = await paused();
    await finish();
    release();
    await gateway.clock.advance(100);
    await turn.settle();
    expect(gateway.queued).toEqual([]);
  });
});

it('the card of a plan is shown again, too, when a paused process edits it after the plan has ended elsewhere', async () => {
  const gateway = buildDelivery({ maxLength: 2_000 });
  const turn = gateway.open('t');
  const started = plan(1);
  gateway.emit('t', { type: 'plan_ready', plan: started });
  await gateway.clock.advance(3_000);
  const edit = gateway.channel.edit?.bind(gateway.channel);
  const { promise, resolve: release } = Promise.withResolvers<void>();
  const held: NonNullable<Channel['edit']> = async (sent, part) => {
    await promise;
    return (await edit?.(sent, part)) ?? sent;
  };
  Object.assign(gateway.channel, { edit: held });
  gateway.emit('t', { type: 'step_changed', step: { ...started.steps[0]!, status: 'running' } });
  await gateway.clock.advance(3_000);
  gateway.plans.set('t', { ...withStatus(started, 0, 'done'), state: 'completed' });
  endTurn(gateway, 'All done.');
  gateway.loseLease()();
  release();
  await gateway.clock.advance(100);
  await turn.settle();
  expect(gateway.queued).toMatchObject([{ ref: 't', message: { content: 'All done.', chatId: '1' } }]);
  await gateway.deliver('All done.', { turnId: 't' });
  expect(gateway.channel.screen('1')[0]).toContain('✔ Completed · 1 of 1 step done');
});

describe('the text of a turn that starts over after a crash', () => {
  const words = (count: number) => Array.from({ length: count }, (_, nth) => `word${nth} `).join('');

  /**
   * A chat in which the previous process has shown `shown` words; returns the lengths on screen while the next one
   * streams.
   */
  async function restarted(shown: number, streamed: number) {
    const gateway = buildDelivery({ maxLength: 10_000 });
    const turn = gateway.open('t');
    gateway.say('t', words(shown));
    await gateway.clock.advance(5_000);
    await turn.settle();
    gateway.open('t', '1', gateway.parts.get('t'), '', undefined, true);
    const lengths: number[] = [];
    for (let nth = 0; nth < streamed; nth += 1) {
      gateway.say('t', `word${nth} `);
      await gateway.clock.advance(100);
      lengths.push(gateway.channel.screen('1')[0]?.length ?? 0);
    }
    await gateway.clock.advance(5_000);
    return { gateway, lengths };
  }

  it('never shrinks on screen, and grows again once it has passed what may be there', async () => {
    const { gateway, lengths } = await restarted(60, 300);
    expect(lengths).toEqual(lengths.toSorted((a, b) => a - b));
    expect(lengths[0]).toBe(words(60).trim().length);
    expect(gateway.channel.screen('1')).toEqual([words(300).trim()]);
  });

  it('waits for little more than was shown', async () => {
    const { lengths } = await restarted(60, 300);
    const shown = words(60).trim().length;
    const next = lengths.find((length) => length > shown) ?? 0;
    // Edits are a second apart: ten words.
    expect(next).toBeLessThanOrEqual(notedLength(notedLength(shown)) + words(10).length);
  });

  it('is immediately replaced by a shorter final text', async () => {
    const { gateway, lengths } = await restarted(60, 10);
    expect(new Set(lengths)).toEqual(new Set([words(60).trim().length]));
    await gateway.deliver('Short.', { turnId: 't' });
    expect(gateway.channel.screen('1')).toEqual(['Short.']);
  });
});
