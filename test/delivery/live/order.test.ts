/** Which call a bot makes next when it is at its limit, from deliveries of every kind to the platform's calls. */
import { expect, it } from 'vitest';
import { approvalRef } from '../../../src/protocol/agent/approvals.ts';
import type { LaneOutcome } from '../../../src/protocol/bus.ts';
import { steadyRates } from '../../../src/protocol/delivery.ts';
import { buildDelivery, HEAD, quiet } from '../setup.ts';

/** What must be shown, as its sender queues it: under which reference, and with which buttons. */
const DELIVERIES = {
  answer: { ref: 'turn-1', turnId: 'turn-1', buttons: [] },
  command: { ref: 'reply:fake:7', buttons: [] },
  approval: { ref: approvalRef('approval-1'), buttons: [{ label: 'Run', value: 'run:1' }] },
};
type Kind = keyof typeof DELIVERIES;

const ORDERS: Kind[][] = [
  ['answer', 'command', 'approval'],
  ['command', 'approval', 'answer'],
  ['approval', 'answer', 'command'],
];

it.each(ORDERS)(
  'shows answers, replies to commands and approvals as they come (%s, %s, %s), then first messages, then the oldest screens',
  async (...kinds) => {
    const rates = steadyRates({ callsPerSecond: 1, editIntervalMs: 10 });
    const { clock, channel, delivery, ...gateway } = buildDelivery({ typing: false, rates });
    for (const chat of ['filling', 'the bucket', 'older', 'newer']) {
      gateway.open(chat, chat);
      gateway.say(chat, 'The first words of this answer.');
      await clock.advance(10_000);
    }
    await clock.advance(10_000);
    const before = channel.calls.length;
    for (const chat of ['filling', 'the bucket', 'newer', 'older']) gateway.say(chat, ' More of it.');
    gateway.open('first', 'first');
    gateway.say('first', 'The first words of another answer.');
    await clock.advance(100);
    const outcomes: Promise<LaneOutcome>[] = [];
    for (const kind of kinds) {
      const { ref, ...rest } = DELIVERIES[kind];
      const message = { channel: 'fake', chatId: kind, content: `This is the ${kind}.`, media: [], ...rest };
      const head = { ...HEAD, lane: `out:fake:${kind}` as const, payload: { ref, message } };
      outcomes.push(delivery.out.handle(head, quiet));
      await clock.advance(1);
    }
    await clock.advance(20_000);
    expect(await Promise.all(outcomes)).toEqual(kinds.map(() => ({ kind: 'finished', step: { heads: [] } })));
    expect(channel.calls.slice(before).map(({ chatId }) => chatId)).toEqual([
      'filling',
      'the bucket',
      ...kinds,
      'first',
      'older',
      'newer',
    ]);
  },
);
