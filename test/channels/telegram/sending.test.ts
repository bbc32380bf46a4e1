/** Sending, editing and typing: every refusal of Telegram and every lost answer becomes the right error. */
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MAX_CONNECTIONS } from '../../../channels/telegram/bot-api.ts';
import { create } from '../../../channels/telegram/index.ts';
import type { Channel, OutboundPart } from '../../../src/protocol/channel.ts';
import { ChannelError } from '../../../src/protocol/errors.ts';
import { parseMarkdown } from '../../../src/lib/markdown/markdown.ts';
import { FAKE_BOT, FAKE_TOKEN, FakeTelegram } from '../../fakes/telegram/telegram.ts';
import type { Failure } from '../../fakes/telegram/failures.ts';
import { telegramConfig, telegramDeps } from './setup.ts';

const GROUP = '-1001234567890';
let fake: FakeTelegram;
let channel: Channel;

beforeEach(async () => {
  fake = await FakeTelegram.start();
  fake.chats.open('42');
  fake.chats.open(GROUP, { topics: [9] });
  channel = create(telegramConfig(`${fake.root}/`), telegramDeps());
});

afterEach(async () => {
  await channel.stop();
  await fake.close();
});

function part(text: string, more: Partial<OutboundPart> = {}): OutboundPart {
  const body = channel.render(parseMarkdown(text));
  return { channel: 'telegram', chatId: '42', body, buttons: [], nonce: 'n', ...more };
}

async function failure(call: Promise<unknown> | undefined): Promise<ChannelError> {
  const error: unknown = await call?.catch((thrown: unknown) => thrown);
  if (!(error instanceof ChannelError)) throw new Error(`no ChannelError but ${inspect(error)}`);
  expect(inspect(error, { depth: 10, showHidden: true })).not.toContain(FAKE_TOKEN);
  return error;
}

/** Edits a message that was just sent. */
async function editAfter(prepare: (id: string) => void): Promise<void> {
  const sent = await channel.send(part('old'));
  prepare(sent.id);
  await channel.edit?.(sent, part('new'));
}

describe('a message', () => {
  it('colors buttons that confirm or endanger', async () => {
    const buttons = [
      { label: 'Approve', value: 'a', style: 'confirm' as const },
      { label: 'Deny', value: 'd', style: 'danger' as const },
      { label: 'Later', value: 'l' },
    ];
    await channel.send(part('hello', { buttons }));
    expect(fake.messages('42')[0]?.buttons.map(({ style }) => style)).toEqual([
      'success',
      'danger',
      undefined,
    ]);
  });

  it('is sent as HTML without link previews, and plain without markup', async () => {
    await channel.send(part('**a** [b](https://x.test)'));
    expect(fake.last.get('sendMessage')).toMatchObject({
      chat_id: '42',
      text: '<b>a</b> <a href="https://x.test">b</a>',
      parse_mode: 'HTML',
      link_preview_options: { is_disabled: true },
    });
    await channel.send(part('**a** <b>', { plain: true }));
    expect(fake.last.get('sendMessage')).not.toHaveProperty('parse_mode');
    expect(fake.screen('42')).toEqual(['a b', 'a <b>']);
    expect(fake.messages('42')[0]?.entities.map((entity) => entity.type)).toEqual(['bold', 'text_link']);
  });

  it('is sent to its topic, and to General without naming it; typing names both', async () => {
    await channel.send(part('in nine', { chatId: GROUP, threadId: '9' }));
    await channel.send(part('in general', { chatId: GROUP, threadId: '1' }));
    expect(fake.messages(GROUP).map((message) => message.threadId)).toEqual([9, undefined]);
    await channel.typing?.({ channel: 'telegram', chatId: GROUP, threadId: '1' });
    await channel.typing?.({ channel: 'telegram', chatId: GROUP, threadId: '9' });
    expect(fake.chats.peek(GROUP)?.actions).toEqual([
      { action: 'typing', threadId: 1 },
      { action: 'typing', threadId: 9 },
    ]);
  });

  it('replies to another message, and is sent even if that message was deleted', async () => {
    fake.says('42', 'question', '42');
    await channel.send(part('answer', { replyTo: '1' }));
    await channel.send(part('answer', { replyTo: '999' }));
    expect(fake.messages('42').map((message) => message.replyTo)).toEqual([1, undefined]);
  });

  it('grows by edits, each shown, and treats "not modified" as success', async () => {
    const sent = await channel.send(part('one'));
    for (const text of ['one two', 'one two', 'one two three']) await channel.edit?.(sent, part(text));
    expect(fake.messages('42')[0]?.shown).toEqual(['one', 'one two', 'one two three']);
    expect(fake.count('editMessageText')).toBe(3);
  });

  it('reaches a chat whose id does not fit a double', async () => {
    fake.chats.open('9007199254740993');
    await channel.send(part('hello', { chatId: '9007199254740993' }));
    expect(fake.screen('9007199254740993')).toEqual(['hello']);
  });

  it(`uses one of at most ${MAX_CONNECTIONS} connections; further messages wait`, async () => {
    const ids = Array.from({ length: MAX_CONNECTIONS + 40 }, (_, i) => String(1_000 + i));
    for (const id of ids) fake.chats.open(id);
    fake.failure({ kind: 'delay', ms: 100, times: ids.length });
    await Promise.all(ids.map((chatId) => channel.send(part('hello', { chatId }))));
    expect(fake.peakConnections).toBe(MAX_CONNECTIONS);
    expect(ids.every((id) => fake.screen(id).length === 1)).toBe(true);
  });

  it('has the edit interval of its kind of chat', () => {
    const { rates } = channel.capabilities;
    const intervals = ['42', GROUP].map(
      (chatId) => rates.of({ channel: 'telegram', chatId }, undefined).editIntervalMs,
    );
    expect(intervals).toEqual([1_100, 3_000]);
  });
});

describe('a refusal', () => {
  it.each([
    ['bot was blocked by the user', 'blocked', false],
    ['user is deactivated', 'blocked', false],
    ['bot was kicked from the supergroup chat', 'blocked', false],
    ["bot can't initiate conversation with a user", 'blocked', false],
    ['the stars are wrong tonight', 'unavailable', true],
  ])('403 "%s" is %s, retryable: %s', async (why, code, retryable) => {
    fake.closeChat('42', why);
    expect(await failure(channel.send(part('x')))).toMatchObject({ code, retryable });
  });

  it('names an unknown chat, a moved one, a missing topic and bad markup', async () => {
    expect(await failure(channel.send(part('x', { chatId: '404' })))).toMatchObject({ code: 'blocked' });
    expect(await failure(channel.send(part('x', { chatId: GROUP, threadId: '10' })))).toMatchObject({
      code: 'place_gone',
    });
    const body = { text: '<p>x</p>', plain: 'x', length: 1 };
    const bad = await failure(channel.send(part('', { body })));
    expect(bad).toMatchObject({ code: 'bad_markup', retryable: false });
    expect(bad.message).toContain('Unsupported start tag "p" at byte offset 0');
    const chat = fake.chats.open('-5');
    chat.movedTo = GROUP;
    expect(await failure(channel.send(part('x', { chatId: '-5' })))).toMatchObject({
      code: 'chat_moved',
      movedTo: GROUP,
    });
  });

  it("reports that a message to edit is gone, or is not the bot's", async () => {
    const gone = editAfter((id) => fake.chats.peek('42')?.messages.delete(Number(id)));
    expect(await failure(gone)).toMatchObject({ code: 'message_gone' });
    fake.says('42', 'mine', '42');
    expect(await failure(channel.edit?.({ id: '2' }, part('x')))).toMatchObject({ code: 'message_gone' });
  });

  it('is not retryable when the text is empty or too long', async () => {
    expect(await failure(channel.send(part('')))).toMatchObject({ code: 'rejected', retryable: false });
    const tooLong = editAfter(() => undefined).then(() =>
      channel.edit?.({ id: '1' }, part('x'.repeat(4_097))),
    );
    expect(await failure(tooLong)).toMatchObject({ code: 'rejected', retryable: false });
  });

  it('of the token names the variable that holds it', async () => {
    fake.tokenValid = false;
    const error = await failure(channel.send(part('x')));
    expect(error).toMatchObject({ code: 'unauthorized', retryable: false });
    expect(error.message).toContain('TELEGRAM_BOT_TOKEN');
    const malformed = create({ ...telegramConfig(fake.root), token: '1:☃' }, telegramDeps());
    expect(await failure(malformed.identify?.(AbortSignal.timeout(5_000)))).toMatchObject({
      code: 'unauthorized',
    });
  });

  it('of a bot that Telegram does not know does the same, for a send and for an edit', async () => {
    const unknown = { kind: 'status', status: 404, description: 'Not Found' } as const;
    const refused = { code: 'unauthorized', retryable: false };
    fake.failure({ ...unknown, method: 'sendMessage' });
    const error = await failure(channel.send(part('x')));
    expect(error).toMatchObject(refused);
    expect(error.message).toContain('TELEGRAM_BOT_TOKEN');
    expect(
      await failure(editAfter(() => fake.failure({ ...unknown, method: 'editMessageText' }))),
    ).toMatchObject(refused);
  });

  it('carries the pause that Telegram asks for, for edits as well', async () => {
    const edit = editAfter(() => fake.rateLimit(7));
    expect(await failure(edit)).toMatchObject({ code: 'rate_limited', retryable: true, retryAfterMs: 7_000 });
  });
});

describe('a lost answer', () => {
  const failures: [Failure['kind'], string, string, string[]][] = [
    ['drop', 'outcome_unknown', 'unavailable', ['hello']],
    ['cut', 'outcome_unknown', 'unavailable', []],
    ['status', 'unavailable', 'unavailable', []],
    ['page', 'unavailable', 'unavailable', []],
  ];
  it.each(failures)('%s: a send is %s, an edit %s', async (kind, sendCode, editCode, shown) => {
    fake.failure({ kind, method: 'sendMessage' });
    expect(await failure(channel.send(part('hello')))).toMatchObject({ code: sendCode, retryable: true });
    expect(fake.screen('42')).toEqual(shown);
    const edit = editAfter(() => fake.failure({ kind, method: 'editMessageText' }));
    expect(await failure(edit)).toMatchObject({ code: editCode, retryable: true });
  });

  it('is known not to be sent when the connection was refused', async () => {
    const gone = await FakeTelegram.start();
    const { root } = gone;
    await gone.close();
    const lonely = create(telegramConfig(root), telegramDeps());
    expect(await failure(lonely.send(part('x')))).toMatchObject({ code: 'unavailable', retryable: true });
  });

  it('is also one that does not arrive in time', async () => {
    const hasty = create(telegramConfig(fake.root), telegramDeps(), { callTimeoutMs: 300 });
    await hasty.identify?.(AbortSignal.timeout(5_000));
    fake.failure({ kind: 'delay', ms: 1_000, times: 2 });
    expect(await failure(hasty.send(part('late')))).toMatchObject({
      code: 'outcome_unknown',
      retryable: true,
    });
    await vi.waitFor(() => expect(fake.screen('42')).toEqual(['late']));
    expect(await failure(hasty.edit?.({ id: '1' }, part('later')))).toMatchObject({ code: 'unavailable' });
  });

  it('is distinguished from a slow one', async () => {
    fake.failure({ kind: 'delay', ms: 50 });
    expect(await channel.send(part('slow'))).toEqual({ id: '1' });
  });
});

describe('an outage', () => {
  const OUTAGES = [
    ['page', 'a page with status 502'],
    ['cut', 'connections that are reset'],
    ['silence', 'silence'],
  ] as const;

  it.each(OUTAGES)('of %s costs one doubtful send, and none once it is known', async (kind) => {
    const hasty = create(telegramConfig(fake.root), telegramDeps(), { callTimeoutMs: 300 });
    await hasty.send(part('before'));
    fake.outage = kind;
    const doubtful = kind === 'page' ? 'unavailable' : 'outcome_unknown';
    expect(await failure(hasty.send(part('during')))).toMatchObject({ code: doubtful });
    for (let i = 0; i < 3; i += 1)
      expect(await failure(hasty.send(part('during')))).toMatchObject({ code: 'unavailable' });
    expect([fake.count('sendMessage'), fake.count('getMe')]).toEqual([2, 4]);
    fake.outage = undefined;
    await hasty.send(part('after'));
    expect(fake.screen('42')).toEqual(['before', 'after']);
  });

  it.each(OUTAGES)('of %s that an edit or a poll encountered costs no doubtful send at all', async (kind) => {
    const hasty = create(telegramConfig(fake.root), telegramDeps(), { callTimeoutMs: 300 });
    const sent = await hasty.send(part('before'));
    fake.outage = kind;
    expect(await failure(hasty.edit?.(sent, part('x')))).toMatchObject({ code: 'unavailable' });
    expect(await failure(hasty.send(part('during')))).toMatchObject({ code: 'unavailable' });
    expect(fake.count('sendMessage')).toBe(1);
  });

  it('is checked once for all who want to send', async () => {
    fake.outage = 'silence';
    const hasty = create(telegramConfig(fake.root), telegramDeps(), { callTimeoutMs: 300 });
    const sends = Array.from({ length: 20 }, () => failure(hasty.send(part('x'))));
    expect(new Set((await Promise.all(sends)).map(({ code }) => code))).toEqual(new Set(['unavailable']));
    expect([fake.count('getMe'), fake.count('sendMessage')]).toEqual([1, 0]);
  });

  it.each([
    [502, 'unavailable'],
    [413, 'unavailable'],
    [200, 'outcome_unknown'],
  ])('shows in a page with status %i: a send is %s', async (status, code) => {
    await channel.identify?.(AbortSignal.timeout(5_000));
    fake.failure({ kind: 'page', status, method: 'sendMessage' });
    expect(await failure(channel.send(part('x')))).toMatchObject({ code, retryable: true });
  });
});

describe('the account', () => {
  it('is identified by the token', async () => {
    expect(await channel.identify?.(AbortSignal.timeout(5_000))).toEqual({
      id: String(FAKE_BOT.id),
      name: FAKE_BOT.username,
      readsAll: false,
      privateThreads: false,
    });
  });
});
