/**
 * Replies in a supergroup without topics: there, Telegram gives a reply the thread of its chain, whose id is that of the
 * message replied to, and no `is_topic_message`. The first update was recorded (westacks/telebot#135; only the bot's id is
 * changed); the others have the same frame around what the Bot API documents for their kind.
 */
import { describe, expect, it } from 'vitest';
import { toInbound } from '../../../../channels/telegram/receiving/inbound.ts';

const BOT = { id: '7490005555', name: 'debug_log_bot', commands: new Set<string>() };
const chat = { id: -1_002_222_000_284, type: 'supergroup', title: 'Telebot v4 test' };
const john = { id: 439_044_444, is_bot: false, first_name: 'John', last_name: 'Ber', language_code: 'en' };
const bob = { id: 55, is_bot: false, first_name: 'Bob' };
const debugBot = { id: 7_490_005_555, is_bot: true, first_name: 'debug bot', username: 'debug_log_bot' };
const channel = { id: -1_001_111, type: 'channel', title: 'The News' };

/** John's reply to message 111, which is no reply itself. */
function reply(to: Record<string, unknown>, more: Record<string, unknown> = {}) {
  const update = {
    update_id: 857_192_578,
    message: {
      message_id: 112,
      message_thread_id: 111,
      from: john,
      date: 1_756_821_534,
      chat,
      reply_to_message: { message_id: 111, from: bob, date: 1_756_821_528, chat, ...to },
      text: 'ok',
      ...more,
    },
  };
  const inbound = toInbound(update, BOT);
  if (inbound.kind !== 'message') throw new Error(JSON.stringify(inbound));
  return inbound.message;
}

describe('a reply in a supergroup without topics', () => {
  it("to the bot's own message is meant for the bot, and names what it replies to", () => {
    expect(reply({ from: debugBot, text: 'Заявка #IT001519' })).toMatchObject({
      mentioned: true,
      replyTo: '111',
      quoted: { by: 'bot', text: 'Заявка #IT001519' },
    });
  });

  it.each([
    ['a text', { text: 'the moon is cheese' }, {}, { author: 'Bob', text: 'the moon is cheese' }],
    [
      'a part of a text',
      { text: 'we meet on Friday 14:00' },
      { quote: { text: 'Friday 14:00', position: 11, is_manual: true } },
      { author: 'Bob', text: 'Friday 14:00' },
    ],
    ['a picture', { photo: [{ file_id: 'p' }] }, {}, { author: 'Bob', media: [{ kind: 'image' }] }],
    [
      'the post of the linked channel',
      {
        from: { id: 777_000, is_bot: false, first_name: 'Telegram' },
        sender_chat: channel,
        is_automatic_forward: true,
        forward_origin: { type: 'channel', chat: channel, message_id: 9, date: 1 },
        text: 'The bridge opens on Monday.',
      },
      {},
      { author: 'The News', text: 'The bridge opens on Monday.' },
    ],
  ])('to %s of others quotes it', (_, to, more, quoted) => {
    expect(reply(to, more)).toMatchObject({ mentioned: false, quoted: { by: 'other', ...quoted } });
  });

  it('to a message of another chat quotes that', () => {
    const origin = { type: 'user', sender_user: bob, date: 1 };
    const more = { reply_to_message: undefined, external_reply: { origin }, quote: { text: 'Friday' } };
    expect(reply({}, more).quoted).toMatchObject({ by: 'other', author: 'Bob', text: 'Friday' });
  });

  it('in the General topic of a forum counts, and what opened a topic never does', () => {
    const forum = { ...chat, is_forum: true };
    expect(reply({ from: debugBot, text: 'hi' }, { chat: forum })).toMatchObject({
      threadId: '1',
      mentioned: true,
    });
    const opener = { from: debugBot, forum_topic_created: { name: 'Plans', icon_color: 1 } };
    expect(reply(opener, { chat: forum, is_topic_message: true })).toMatchObject({
      threadId: '111',
      mentioned: false,
      replyTo: undefined,
    });
    expect(reply(opener, { chat: forum }).mentioned).toBe(false);
  });
});
