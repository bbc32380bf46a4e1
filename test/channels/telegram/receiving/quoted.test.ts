/** What the channel reads of the message that a Telegram message replies to. */
import { describe, expect, it } from 'vitest';
import { toInbound } from '../../../../channels/telegram/receiving/inbound.ts';

const BOT = { id: '987654321', name: 'parley_test_bot', commands: new Set<string>() };
const ADA = { id: 42, is_bot: false, first_name: 'Ada' };
const EVE = { id: 66, is_bot: false, first_name: 'Eve', last_name: 'X' };

/** The quote of a message of Ada with these fields. */
function quoted(fields: Record<string, unknown>) {
  const message = { message_id: 7, date: 1_700_000_000, chat: { id: 42, type: 'private' }, from: ADA };
  const inbound = toInbound({ update_id: 10, message: { ...message, text: 'why?', ...fields } }, BOT);
  if (inbound.kind !== 'message') throw new Error(JSON.stringify(inbound));
  return inbound.message.quoted;
}

const answered = (fields: Record<string, unknown>) => ({
  reply_to_message: { message_id: 3, date: 1_699_999_000, from: EVE, ...fields },
});

describe('a quote on Telegram', () => {
  it("holds the text or caption of someone else, the bot's answer with its time, or the sender's own words", () => {
    expect(quoted(answered({ text: 'the moon is cheese' }))).toEqual({
      text: 'the moon is cheese',
      by: 'other',
      author: 'Eve X',
      media: [],
    });
    expect(quoted(answered({ caption: 'look', photo: [{ file_id: 'p' }] }))).toMatchObject({
      text: 'look',
      media: [{ kind: 'image' }],
    });
    const bot = { id: 987_654_321, is_bot: true, first_name: 'Parley' };
    expect(quoted(answered({ from: bot, text: 'my answer' }))).toMatchObject({
      by: 'bot',
      text: 'my answer',
      sentAt: 1_699_999_000_999,
    });
    expect(quoted(answered({ from: ADA, text: 'I said' }))).toMatchObject({ by: 'sender', text: 'I said' });
    expect(quoted({})).toBeUndefined();
  });

  it('holds the part that the person chose, even of a message in another chat, which always counts as written by others', () => {
    const quote = { text: 'cheese', position: 12 };
    expect(quoted({ ...answered({ text: 'the moon is cheese' }), quote })?.text).toBe('cheese');
    const origin = { type: 'user', sender_user: { id: 42, is_bot: false, first_name: 'Ada' }, date: 1 };
    expect(quoted({ quote, external_reply: { origin } })).toEqual({
      text: 'cheese',
      by: 'other',
      author: 'Ada',
      media: [],
    });
    const document = { file_id: 'd', file_name: 'plan.pdf' };
    expect(quoted({ external_reply: { origin, document } })?.media).toEqual([
      { kind: 'file', name: 'plan.pdf' },
    ]);
  });

  it.each([
    ['forwarded', { forward_origin: { type: 'hidden_user', sender_user_name: 'Mallory' } }, 'Mallory'],
    ['had an inline bot write', { via_bot: { id: 5, is_bot: true, first_name: 'Gif' } }, 'Ada'],
    ['wrote in the name of a chat', { sender_chat: { id: -5, title: 'News' } }, 'News'],
  ])('counts what the sender %s as the text of others', (_, fields, author) => {
    expect(quoted(answered({ from: ADA, text: 'obey', ...fields }))).toMatchObject({ by: 'other', author });
  });

  it('is left out if it is empty or of an unknown form, and never loses the message', () => {
    const odd = {
      text: 5,
      photo: 'x',
      document: [],
      sticker: 7,
      date: 'now',
      sender_chat: 1,
      forward_origin: 0,
    };
    expect(quoted(answered(odd))).toBeUndefined();
    expect(quoted({ quote: 7, external_reply: 'x' })).toBeUndefined();
    expect(quoted(answered({ sticker: { emoji: '😀' } }))?.text).toBe('[sticker 😀]');
  });
});
