/** First messages whose answers were lost: none stays behind as a fragment of its answer. Real HTTP, virtual time. */
import { setImmediate as immediate } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { create } from '../../../channels/telegram/index.ts';
import { MAX_COPIES, MAX_LOST, TelegramLostSends } from '../../../channels/telegram/sending.ts';
import { buildDelivery, HEAD, quiet } from '../../delivery/setup.ts';
import { FakeTelegram } from '../../fakes/telegram/telegram.ts';
import { countCalls } from './counted-calls.ts';
import { telegramConfig, telegramDeps } from './setup.ts';

const BEGINNING = 'The first words of an answer that goes on for longer than a moment. ';
const ANSWER = `${BEGINNING}And these are the last ones.`;

/** A gateway with the real channel in front of a Telegram that numbers the messages of private chats together. */
async function build() {
  const fake = await FakeTelegram.start();
  onTestFinished(() => fake.close());
  fake.chats.sharesIds = true;
  const gateway = buildDelivery();
  const { clock, delivery, parts } = gateway;
  const calls = countCalls(clock);
  const timing = { callTimeoutMs: 30_000, clock: calls.clock };
  gateway.channels.set('telegram', create(telegramConfig(fake.root), telegramDeps(), timing));
  const pass = async (): Promise<void> => {
    if (calls.waiting() > 0) await immediate();
    else await clock.advance(100);
  };
  /** Time passes until the promise is settled. */
  const during = async <T>(work: Promise<T>): Promise<T> => {
    const open = new Set([work]);
    const end = (): void => void open.delete(work);
    work.then(end, end);
    while (open.size > 0) await pass();
    return await work;
  };
  const begin = async (chatId: string, turnId: string) => {
    const address = `telegram:${chatId}` as const;
    const turn = delivery.live.open({
      turnId,
      session: address,
      address,
      surfaces: [],
      placeholders: [],
      takenOver: false,
      textSoFar: '',
      async note(ref, sent) {
        parts.set(ref, sent);
        return { held: true, copies: [] };
      },
    });
    gateway.say(turnId, BEGINNING);
    const sends = fake.count('sendMessage');
    while (fake.count('sendMessage') === sends || calls.waiting() > 0) await pass();
    return turn;
  };
  const finish = async (chatId: string, turnId: string, turn: { settle(): Promise<unknown> }) => {
    await during(turn.settle());
    const message = { channel: 'telegram', chatId, content: ANSWER, turnId, media: [], buttons: [] };
    const head = { ...HEAD, lane: `out:telegram:${chatId}` as const, payload: { ref: turnId, message } };
    for (let tries = 0; tries < 5; tries += 1) {
      const outcome = await during(delivery.out.handle({ ...head, attempts: tries }, quiet));
      if (outcome.kind === 'finished' || outcome.kind === 'parked') return;
      await during(clock.sleep(outcome.delayMs ?? 0));
    }
  };
  return { fake, parts, delivery, begin, finish };
}

describe('a first message whose answer was lost', () => {
  it('leaves no fragment where three of ten were applied before their connection was reset', async () => {
    const { fake, delivery, begin, finish } = await build();
    const chats = Array.from({ length: 10 }, (_, at) => String(1_000 + at));
    for (const [at, chatId] of chats.entries()) {
      fake.chats.post(fake.chats.open(chatId), 'A question');
      if (at % 10 < 3) fake.failure({ kind: 'drop', method: 'sendMessage' });
      const turn = await begin(chatId, `turn-${chatId}`);
      await finish(chatId, `turn-${chatId}`, turn);
    }
    expect(delivery.counts().ambiguousSends).toBe(3);
    for (const chatId of chats) expect([chatId, ...fake.screen(chatId)]).toEqual([chatId, ANSWER]);
  });

  it('is removed from a group, and what people wrote in the meantime stays', async () => {
    const { fake, begin, finish } = await build();
    const group = fake.chats.open('-1001');
    fake.chats.post(group, 'A question');
    fake.failure({ kind: 'drop', method: 'sendMessage' });
    const turn = await begin('-1001', 'turn');
    fake.chats.post(group, 'Another word');
    await finish('-1001', 'turn', turn);
    expect([...group.messages.values()].map(({ text }) => text)).toEqual([
      'A question',
      'Another word',
      ANSWER,
    ]);
  });

  it('is not confused with a message that another node has sent and recorded', async () => {
    const { fake, parts, begin, finish } = await build();
    fake.chats.post(fake.chats.open('7'), 'A question');
    fake.failure({ kind: 'drop', method: 'sendMessage' });
    const turn = await begin('7', 'turn');
    const { message } = fake.chats.send({ chat_id: '7', text: 'Of another node.' });
    parts.set('other', [{ id: String(message.id) }]);
    await finish('7', 'turn', turn);
    expect(fake.screen('7')).toEqual(['Of another node.', ANSWER]);
  });
});

describe('the ids of a lost message', () => {
  it('are between the newest message before it and the one sent after it, except those that are known', () => {
    const lost = new TelegramLostSends();
    lost.note('5', '10');
    lost.add('nonce', '5', lost.newest('5'));
    // Private chats are numbered together.
    lost.note('6', '12');
    expect(lost.copiesOf('nonce', { id: '14' })).toEqual([{ id: '11' }, { id: '13' }]);
    lost.forgetNonce('nonce');
    expect(lost.copiesOf('nonce', { id: '14' })).toEqual([]);
  });

  it('are few, however much was written in the meantime', () => {
    const lost = new TelegramLostSends();
    lost.note('-1001', '10');
    lost.add('nonce', '-1001', lost.newest('-1001'));
    expect(lost.copiesOf('nonce', { id: '900' })).toHaveLength(MAX_COPIES);
  });

  it('are the last ones before a message if nothing before the loss was known', () => {
    const lost = new TelegramLostSends();
    lost.add('nonce', '5', lost.newest('5'));
    expect(lost.copiesOf('nonce', { id: '3' })).toEqual([{ id: '1' }, { id: '2' }]);
  });

  it('are forgotten for the oldest of too many losses', () => {
    const lost = new TelegramLostSends();
    for (let at = 0; at <= MAX_LOST; at += 1) lost.add(`nonce-${at}`, '5', 1);
    expect(lost.copiesOf('nonce-0', { id: '3' })).toEqual([]);
    expect(lost.copiesOf('nonce-1', { id: '3' })).toEqual([{ id: '2' }]);
  });
});
