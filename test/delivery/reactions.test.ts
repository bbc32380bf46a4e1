/** Reactions to questions: the newest state is shown, no text waits for one, and chats that refuse them get none. */
import { afterEach, expect, it } from 'vitest';
import { ChannelError } from '../../src/protocol/errors.ts';
import type { QuestionState } from '../../src/protocol/channel.ts';
import { steadyRates } from '../../src/protocol/delivery.ts';
import {
  MAX_PENDING,
  Reactions,
  REFUSED_MS,
  RETRY_MS,
  MAX_TRIES,
  stateAfter,
} from '../../src/delivery/reactions.ts';
import { Scheduler } from '../../src/delivery/rate/scheduler.ts';
import { silentLog } from '../database.ts';
import { FakeChannel } from '../fakes/gateway/channel.ts';
import { FakeClock } from '../fakes/clock.ts';
import { quiet } from './setup.ts';

const opened: Reactions[] = [];
afterEach(() => opened.splice(0).forEach((reactions) => reactions.close()));

function build(act: (state: QuestionState) => Promise<void> = async () => undefined) {
  const clock = new FakeClock();
  const shown: string[] = [];
  const channel = Object.assign(new FakeChannel({ clock }), {
    react: async ({ messageId }: { messageId: string }, state: QuestionState) => {
      await act(state);
      shown.push(`${messageId} ${state}`);
    },
  });
  Object.assign(channel.capabilities, { reactions: ['group'] });
  const rates = steadyRates({ callsPerSecond: 25, editIntervalMs: 1_000 });
  const scheduler = new Scheduler(clock, rates, () => true);
  const channels = new Map([[channel.name, channel]]);
  const reactions = new Reactions(channels, () => scheduler, clock, silentLog);
  opened.push(reactions);
  const question = (messageId: string, place: 'private' | 'group' = 'group') => ({
    channel: channel.name,
    chatId: '1',
    messageId,
    place,
  });
  return { clock, shown, scheduler, reactions, question };
}

it('the newest state is shown, even if another one was on its way', async () => {
  const { clock, shown, reactions, question } = build();
  reactions.show(question('7'), 'waiting');
  reactions.show(question('7'), 'working');
  reactions.show(question('7'), 'done');
  await clock.advance(RETRY_MS);
  expect(shown).toEqual(['7 waiting', '7 done']);
  expect(reactions.waiting).toBe(0);
});

it('a chat of a kind that shows none gets none', async () => {
  const { clock, shown, reactions, question } = build();
  reactions.show(question('7', 'private'), 'working');
  await clock.advance(RETRY_MS);
  expect(shown).toEqual([]);
});

it(`a reaction waits while texts wait, and is left out after ${MAX_TRIES} tries`, async () => {
  const { clock, shown, scheduler, reactions, question } = build();
  const { promise, resolve } = Promise.withResolvers<void>();
  const busy = new ChannelError('rate_limited', 'slow down', { retryable: true, retryAfterMs: 3_000 });
  let refused = false;
  const place = { channel: 'fake', chatId: '1' };
  const text = scheduler.final(
    { place },
    async () => {
      if (refused) return resolve();
      refused = true;
      throw busy;
    },
    quiet,
  );
  await clock.advance(1);
  reactions.show(question('7'), 'done');
  await clock.advance(RETRY_MS);
  expect(shown).toEqual([]);
  await clock.advance(4_000);
  await Promise.all([promise, text]);
  expect(shown).toEqual(['7 done']);
  const never = build(() => Promise.reject(busy));
  never.reactions.show(never.question('8'), 'done');
  for (let n = 0; n < MAX_TRIES + 1; n += 1) await never.clock.advance(RETRY_MS);
  expect([never.reactions.waiting, never.shown]).toEqual([0, []]);
});

it('a chat that refuses a reaction gets none for an hour', async () => {
  let calls = 0;
  const refusal = new ChannelError('rejected', 'REACTION_INVALID');
  const { clock, reactions, question } = build(() => {
    calls += 1;
    return Promise.reject(refusal);
  });
  reactions.show(question('7'), 'working');
  await clock.advance(RETRY_MS);
  reactions.show(question('8'), 'working');
  await clock.advance(RETRY_MS);
  expect(calls).toBe(1);
  await clock.advance(REFUSED_MS);
  reactions.show(question('9'), 'working');
  await clock.advance(RETRY_MS);
  expect(calls).toBe(2);
});

it(`at most ${MAX_PENDING} reactions are in flight`, () => {
  const { reactions, question } = build(() => new Promise(() => undefined));
  for (let n = 0; n < MAX_PENDING + 5; n += 1) reactions.show(question(String(n)), 'working');
  expect(reactions.waiting).toBe(MAX_PENDING);
});

it.each([
  ['completed', 'done'],
  ['max_iterations', 'done'],
  ['failed', 'failed'],
  ['stopped', 'none'],
  ['interrupted', 'none'],
] as const)('a turn that is %s leaves the reaction %s', (reason, state) => {
  expect(stateAfter(reason)).toBe(state);
});
