/** A deferred reply: its real id is stored as soon as the platform reports it, and further parts follow it. */
import { describe, expect, it } from 'vitest';
import { buildDelivery } from './setup.ts';

const LONG = Array.from({ length: 40 }, (_, i) => `Paragraph ${i} of a long answer.`).join('\n\n');

describe('a deferred reply', () => {
  it('is recorded with its real id by the first edit, once', async () => {
    const gateway = buildDelivery();
    const turn = gateway.open('t', '1', [gateway.channel.deferred('1')]);
    gateway.say('t', 'A first sentence of some length.');
    await gateway.clock.advance(2_000);
    expect(gateway.parts.get('t')).toMatchObject([
      { id: 'deferred', metadata: { message: 'm1', told: 'm1' } },
    ]);
    gateway.parts.delete('t');
    gateway.say('t', ' And a second.');
    await gateway.clock.advance(5_000);
    await turn.settle();
    expect(gateway.channel.screen('1')).toEqual(['A first sentence of some length. And a second.']);
    expect(gateway.parts.has('t')).toBe(false);
  });

  it('is recorded by the final delivery if nothing was shown before', async () => {
    const gateway = buildDelivery({ maxLength: 200 });
    gateway.parts.set('t', [gateway.channel.deferred('1')]);
    await gateway.deliver(LONG, { turnId: 't' });
    const screen = gateway.channel.screen('1');
    expect(screen.join('\n\n')).toBe(LONG);
    const sent = gateway.finished[0]?.sent ?? [];
    expect(sent.map(({ id, metadata }) => metadata?.told ?? id)).toEqual(screen.map((_, n) => `m${n + 1}`));
  });

  it('is passed to the channel with each part that comes after it, live and final', async () => {
    const gateway = buildDelivery({ maxLength: 200 });
    const turn = gateway.open('t', '1', [gateway.channel.deferred('1')]);
    gateway.say('t', LONG.slice(0, 500));
    await gateway.clock.advance(10_000);
    await turn.settle();
    await gateway.deliver(LONG, { turnId: 't' });
    const sends = gateway.channel.calls.filter(({ kind }) => kind === 'send');
    const after = sends.map(({ part }) => part?.after?.metadata?.told ?? part?.after?.id);
    expect(after).toEqual(sends.map((_, n) => `m${n + 1}`));
    expect(sends.length).toBeGreaterThan(3);
  });
});
