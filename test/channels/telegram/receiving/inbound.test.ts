/** What the channel makes of a Telegram update, and which updates it ignores. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toInbound } from '../../../../channels/telegram/receiving/inbound.ts';
import { manifest } from '../../../../channels/telegram/manifest.ts';
import type { InboundMessage } from '../../../../src/protocol/message.ts';

const BOT = { id: '987654321', name: 'parley_test_bot', commands: new Set(['stop', 'queue']) };
const PERSON = { id: 42, is_bot: false, first_name: 'Ada', last_name: 'L' };

function message(fields: Record<string, unknown>): Record<string, unknown> {
  const usual = {
    message_id: 7,
    date: 1_700_000_000,
    chat: { id: 42, type: 'private' },
    from: PERSON,
    text: 'hi',
  };
  return { update_id: 10, message: { ...usual, ...fields } };
}

/** The message an update becomes; fails the test if it is ignored. */
function read(update: unknown): InboundMessage {
  const inbound = toInbound(update, BOT);
  if (inbound.kind !== 'message') throw new Error(`not a message: ${JSON.stringify(inbound)}`);
  return inbound.message;
}

const group = { id: -1_001_234_567_890, type: 'supergroup' };
const command = (text: string): Record<string, unknown> => ({
  chat: group,
  text,
  entities: [{ type: 'bot_command', offset: 0, length: text.split(' ')[0]?.length }],
});

describe('a private message', () => {
  it('carries ids as strings, the dedupe key, and the text unchanged', () => {
    expect(read(message({}))).toEqual({
      id: '987654321:10',
      channel: 'telegram',
      chatId: '42',
      threadId: undefined,
      senderId: '42',
      senderName: 'Ada L',
      content: 'hi',
      timestamp: 1_700_000_000_000,
      media: [],
      replyTo: undefined,
      place: 'private',
      mentioned: true,
      messageId: '7',
    });
  });

  it('names the message it replies to', () => {
    expect(read(message({ reply_to_message: { message_id: 3, from: PERSON } })).replyTo).toBe('3');
  });

  it('keeps every digit of an id of 52 bits, and ignores ids that a double would round', () => {
    const id = 2 ** 52 - 1;
    expect(read(message({ chat: { id, type: 'private' } })).chatId).toBe('4503599627370495');
    expect(toInbound(message({ chat: { id: 2 ** 53 + 2, type: 'private' } }), BOT).kind).toBe('ignored');
    expect(read(message({ chat: { id: '9007199254740993', type: 'private' } })).chatId).toBe(
      '9007199254740993',
    );
  });

  it('carries files and their caption', () => {
    const photo = [
      { file_id: 'small', file_size: 10 },
      { file_id: 'large', file_size: 900 },
    ];
    const withPhoto = read(message({ text: undefined, caption: 'look', photo }));
    expect(withPhoto).toMatchObject({
      content: 'look',
      media: [{ kind: 'image', url: 'large', bytes: 900 }],
    });
    const document = { file_id: 'doc', file_name: 'a.pdf', mime_type: 'application/pdf' };
    const media = [{ kind: 'file', url: 'doc', name: 'a.pdf', mimeType: 'application/pdf' }];
    expect(read(message({ text: undefined, document }))).toMatchObject({ content: '', media });
    const animation = { file_id: 'gif' };
    expect(read(message({ text: undefined, animation, document })).media).toEqual([
      { kind: 'video', url: 'gif' },
    ]);
  });
});

describe('a group message', () => {
  it.each([
    ['hello', [], false],
    ['hello @parley_test_bot', [{ type: 'mention', offset: 6, length: 16 }], true],
    ['hello @PARLEY_test_bot', [{ type: 'mention', offset: 6, length: 16 }], true],
    ['hello @parley_test_bot2', [{ type: 'mention', offset: 6, length: 17 }], false],
    ['hello @parley_test_bot', [], false],
    [
      'hey you',
      [{ type: 'text_mention', offset: 4, length: 3, user: { id: 987_654_321, is_bot: true } }],
      true,
    ],
    ['hey you', [{ type: 'text_mention', offset: 4, length: 3, user: { id: 1, is_bot: false } }], false],
  ])('"%s" with %j is a mention: %s', (text, entities, mentioned) => {
    expect(read(message({ chat: group, text, entities }))).toMatchObject({ place: 'group', mentioned });
  });

  it('counts a reply to the bot as a mention, but not a reply to someone else', () => {
    const answer = (from: object, more = {}): boolean =>
      read(message({ chat: group, reply_to_message: { message_id: 3, from }, ...more })).mentioned;
    expect(answer({ id: 987_654_321, is_bot: true })).toBe(true);
    expect(answer({ id: 5, is_bot: true })).toBe(false);
    expect(answer({ id: 987_654_321, is_bot: true }, { message_thread_id: 3, is_topic_message: true })).toBe(
      false,
    );
  });

  it.each([
    ['/stop@parley_test_bot', '/stop', true],
    ['/stop@Parley_Test_Bot now', '/stop now', true],
    ['/stop@other_bot', '/stop@other_bot', false],
    ['/stop', '/stop', true],
    ['/QUEUE steer', '/QUEUE steer', true],
    ['/new', '/new', false],
    ['/weather', '/weather', false],
  ])('reads %s as "%s", called: %s (N-58)', (text, content, mentioned) => {
    expect(read(message(command(text)))).toMatchObject({ content, mentioned });
  });

  it('distinguishes topics, the General topic, and plain reply threads', () => {
    const thread = (fields: object): string | undefined => read(message({ chat: group, ...fields })).threadId;
    expect(thread({ message_thread_id: 9, is_topic_message: true })).toBe('9');
    expect(thread({ message_thread_id: 9 })).toBeUndefined();
    expect(thread({ chat: { ...group, is_forum: true } })).toBe('1');
  });
});

describe('updates that are not a message from a person to the bot', () => {
  it("report a group that became a supergroup, from either of Telegram's service messages", () => {
    const moved = { kind: 'moved', from: '-50', to: '-1005000' };
    const there = message({
      chat: { id: -50, type: 'group' },
      text: undefined,
      migrate_to_chat_id: -1_005_000,
    });
    const here = message({
      chat: { id: -1_005_000, type: 'supergroup' },
      text: undefined,
      migrate_from_chat_id: -50,
    });
    expect([toInbound(there, BOT), toInbound(here, BOT)]).toEqual([moved, moved]);
  });

  it('mark what another bot wrote', () => {
    expect(read(message({ chat: group, from: { id: 5, is_bot: true } }))).toMatchObject({ fromBot: true });
    expect(read(message({ chat: group }))).not.toHaveProperty('fromBot');
  });

  it.each([
    ['the bot itself', { from: { id: 987_654_321, is_bot: true } }],
    [
      'a linked channel in its own name',
      { chat: { id: -1009, type: 'channel' }, sender_chat: { id: -1009 } },
    ],
    ['a person in the name of a channel', { chat: group, sender_chat: { id: -100_777 } }],
    ['a linked channel', { chat: group, from: { id: 777_000, is_bot: false } }],
    ['an inline bot', { via_bot: { id: 6, is_bot: true } }],
    ['nobody', { from: undefined }],
    ['a channel', { chat: { id: -1009, type: 'channel' } }],
    ['a service message', { text: undefined, new_chat_title: 'x' }],
  ])('ignores what %s wrote', (_who, fields) => {
    expect(toInbound(message(fields), BOT).kind).toBe('ignored');
  });

  it('identify an anonymous administrator by the group, never as a person who could own the gateway', () => {
    const from = { id: 1_087_968_824, is_bot: true, first_name: 'Group' };
    const anonymous = read(message({ chat: group, from, sender_chat: group, author_signature: 'Chief' }));
    expect(anonymous).toMatchObject({ senderId: String(group.id), senderName: 'Chief', messageId: '7' });
    const untitled = read(message({ chat: { ...group, title: 'Club' }, from, sender_chat: group }));
    expect(untitled.senderName).toBe('Club');
    expect(anonymous).not.toHaveProperty('fromBot');
    expect(anonymous.senderId).not.toMatch(manifest.ids?.userId ?? '');
  });

  it.each([
    ['left', 'member', 'joined'],
    ['kicked', 'administrator', 'joined'],
    ['member', 'kicked', 'left'],
    ['administrator', 'left', 'left'],
    ['member', 'administrator', undefined],
    ['left', 'kicked', undefined],
  ])('report that the bot, once %s, is %s now: %s', (before, after, change) => {
    const my_chat_member = {
      chat: group,
      from: PERSON,
      old_chat_member: { status: before },
      new_chat_member: { status: after },
    };
    const inbound = toInbound({ update_id: 10, my_chat_member }, BOT);
    const about = { id: '987654321:10', place: 'group', byId: '42', readsAll: false };
    expect(inbound).toMatchObject(
      change === undefined ? { kind: 'ignored' } : { kind: 'membership', change: { ...about, change } },
    );
  });

  it('read an edit as the new text of its message, but no edit of a command or without text', () => {
    const edited = (fields: object): ReturnType<typeof toInbound> =>
      toInbound({ update_id: 11, edited_message: message({ ...fields })['message'] }, BOT);
    expect(edited({ text: 'hi there' })).toMatchObject({
      kind: 'message',
      message: { id: '987654321:11', messageId: '7', content: 'hi there', isEdit: true },
    });
    expect(edited({ text: undefined, location: { latitude: 1, longitude: 2, live_period: 60 } }).kind).toBe(
      'ignored',
    );
    expect(edited({ text: '/stop' }).kind).toBe('ignored');
    expect(edited({ from: { id: 987_654_321, is_bot: true } }).kind).toBe('ignored');
  });

  it.each([
    { before: [], now: ['👎'], stops: '7' },
    { before: ['👍'], now: ['❤', '👎'], stops: '7' },
    { before: ['👎'], now: ['👎', '❤'], stops: undefined },
    { before: ['👎'], now: [], stops: undefined },
    { before: [], now: ['👍'], stops: undefined },
  ])('read a reaction that goes from $before to $now as a stop of the answer $stops', (reaction) => {
    const list = (emojis: readonly string[]): unknown[] => emojis.map((emoji) => ({ type: 'emoji', emoji }));
    const lists = { old_reaction: list(reaction.before), new_reaction: list(reaction.now) };
    const message_reaction = { chat: group, message_id: 7, user: PERSON, date: 1, ...lists };
    const inbound = toInbound({ update_id: 12, message_reaction }, BOT);
    const { stops } = reaction;
    const asked = { message: { id: '987654321:12', stops, senderId: '42', content: '' } };
    expect(inbound).toMatchObject(stops === undefined ? { kind: 'ignored' } : asked);
    const anonymous = { ...message_reaction, user: undefined, actor_chat: { id: group.id } };
    expect(toInbound({ update_id: 12, message_reaction: anonymous }, BOT).kind).toBe('ignored');
  });

  it('treat a restricted bot as a member only if Telegram says so', () => {
    const changed = (is_member: boolean): unknown => ({
      update_id: 10,
      my_chat_member: {
        chat: group,
        from: PERSON,
        old_chat_member: { status: 'left' },
        new_chat_member: { status: 'restricted', is_member },
      },
    });
    expect([toInbound(changed(true), BOT).kind, toInbound(changed(false), BOT).kind]).toEqual([
      'membership',
      'ignored',
    ]);
  });

  it.each(['channel_post', 'edited_channel_post', 'poll', 'something_new'])(
    'ignores an update of the kind %s',
    (kind) => {
      const update = { update_id: 3, [kind]: message({})['message'] };
      expect(toInbound(update, BOT)).toMatchObject({ kind: 'ignored' });
    },
  );

  it('report a button press, without a message when its message is unknown', () => {
    const update = { update_id: 3, callback_query: { id: '77', from: PERSON, data: 'x' } };
    expect(toInbound(update, BOT)).toEqual({ kind: 'button', callbackId: '77' });
  });

  it('never throw, whatever JSON they are or contain', () => {
    const outcomes = ['message', 'button', 'ignored'];
    const fields = [
      'message_id',
      'date',
      'chat',
      'from',
      'text',
      'entities',
      'reply_to_message',
      'photo',
      'via_bot',
    ];
    const damaged = fc
      .tuple(fc.constantFrom(...fields), fc.jsonValue())
      .map(([field, json]) => message({ [field]: json }));
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), damaged), (update) => {
        expect(outcomes).toContain(toInbound(update, BOT).kind);
      }),
      { numRuns: 500 },
    );
  });
});
