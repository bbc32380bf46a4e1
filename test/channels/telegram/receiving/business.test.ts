/** Updates about accounts that are connected to the bot, as Telegram sends them. */
import { describe, expect, it } from 'vitest';
import { toInbound } from '../../../../channels/telegram/receiving/inbound.ts';

const BOT = { id: '987654321', name: 'parley_test_bot', commands: new Set(['stop']) };
const ADA = { id: 42, is_bot: false, first_name: 'Ada' };
const MESSAGE = {
  message_id: 7,
  date: 1_700_000_000,
  business_connection_id: 'biz-1',
  chat: { id: 42, type: 'private', first_name: 'Ada' },
  from: ADA,
  text: 'hi',
};

describe('a message in a connected account', () => {
  it('names its connection and whose chat it is, and is no private message to the bot', () => {
    for (const kind of ['business_message', 'edited_business_message'])
      expect(toInbound({ update_id: 1, [kind]: MESSAGE }, BOT)).toMatchObject({
        kind: 'business',
        connectionId: 'biz-1',
        contactId: '42',
        received: { kind: 'message', message: { content: 'hi', senderId: '42' } },
      });
  });

  it.each([
    ['the bot itself', { sender_business_bot: { id: 987_654_321, is_bot: true, first_name: 'Parley' } }],
    ['Telegram, for its absent author', { is_from_offline: true }],
    ['another bot', { from: { ...ADA, is_bot: true } }],
  ])('is ignored if it was sent by %s', (_who, fields) => {
    const update = { update_id: 1, business_message: { ...MESSAGE, ...fields } };
    expect(toInbound(update, BOT)).toMatchObject({ kind: 'ignored' });
  });

  it('is ignored without its connection, and outside of private chats', () => {
    const { business_connection_id: _id, ...unnamed } = MESSAGE;
    const inGroup = { ...MESSAGE, chat: { id: -5, type: 'group' } };
    for (const business_message of [unnamed, inGroup])
      expect(toInbound({ update_id: 1, business_message }, BOT)).toMatchObject({ kind: 'ignored' });
  });

  it('is deleted by its connection and number', () => {
    const deleted = { business_connection_id: 'biz-1', chat: MESSAGE.chat, message_ids: [7, 8] };
    expect(toInbound({ update_id: 1, deleted_business_messages: deleted }, BOT)).toEqual({
      kind: 'business_deleted',
      connectionId: 'biz-1',
      messageIds: ['7', '8'],
    });
  });

  it('may be answered only with rights that are given', () => {
    const connection = { id: 'biz-1', user: ADA, user_chat_id: 42, date: 1, is_enabled: true };
    expect(toInbound({ update_id: 1, business_connection: connection }, BOT)).toEqual({
      kind: 'connection',
      connection: { id: 'biz-1', user: { ...ADA, id: '42' }, is_enabled: true },
    });
  });
});
