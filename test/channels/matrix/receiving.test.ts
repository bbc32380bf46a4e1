/** What the bot reads in rooms: places, threads, replies, edits, reactions, presses, and what it missed. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MAX_REFUSALS, WARNED_EVERY_MS } from '../../../channels/matrix/receiving.ts';
import { MAX_PAGES } from '../../../channels/matrix/sync.ts';
import { StoreError } from '../../../src/protocol/errors.ts';
import { MatrixSetup } from '../../fakes/matrix/setup.ts';
import { ACCEPTED } from '../../fakes/gateway/channel-setup.ts';

const WAIT = { timeout: 5_000, interval: 5 };

let setup: MatrixSetup;
beforeEach(async () => {
  setup = await MatrixSetup.open();
});
afterEach(() => setup.close());

const received = async (count: number) => {
  await vi.waitFor(() => expect(setup.received.length).toBeGreaterThanOrEqual(count), WAIT);
  return setup.received;
};
const person = (name: string) => setup.server.rooms.person(name);
const bot = () => setup.server.rooms.bot;

describe('a room', () => {
  it('is private with one person in it, and a group from the third one on, even if that one joins later', async () => {
    const room = setup.server.rooms.room(person('Ada'));
    await setup.start();
    setup.server.says(room, 'alone', person('Ada'));
    await received(1);
    setup.server.rooms.member(room, person('Bob'), 'join');
    setup.server.says(room, 'not alone', person('Ada'));
    await received(2);
    setup.server.rooms.member(room, person('Bob'), 'leave');
    setup.server.says(room, 'alone again', person('Ada'));
    const places = (await received(3)).map(({ place, mentioned }) => [place, mentioned]);
    expect(places).toEqual([
      ['private', true],
      ['group', false],
      ['private', true],
    ]);
  });

  it('of several people has the name that it was given, also once it has another', async () => {
    const { server } = setup;
    const room = server.rooms.room(person('Ada'));
    server.rooms.member(room, person('Bob'), 'join');
    const rename = (name: string): void =>
      void server.rooms.add(room, {
        type: 'm.room.name',
        sender: person('Ada').id,
        state_key: '',
        content: { name },
      });
    const asks = (text: string) => server.says(room, text, person('Ada'), { mentions: true });
    await setup.start();
    asks('one');
    await received(1);
    rename('Plans');
    asks('two');
    await received(2);
    rename('Old\nplans');
    asks('three');
    expect((await received(3)).map(({ chatName }) => chatName)).toEqual([undefined, 'Plans', 'Old plans']);
  });

  it('shows that the bot has read what it acts on, in its thread', async () => {
    const { server } = setup;
    const room = server.rooms.room(person('Ada'));
    await setup.start();
    const first = server.says(room, 'one', person('Ada'));
    const second = server.says(room, 'two', person('Ada'), { thread: first.event_id });
    await vi.waitFor(() => expect(server.rooms.read).toEqual([first.event_id, second.event_id]), WAIT);
    setup.verdict = async () => ({ kind: 'refused', code: 'denied' });
    server.says(room, 'three', person('Ada'));
    await received(3);
    expect(server.rooms.read).toHaveLength(2);
  });

  it('keeps the addresses behind words, and the words of mentions', async () => {
    const { server } = setup;
    const room = server.rooms.room(person('Ada'));
    await setup.start();
    const more = {
      format: 'org.matrix.custom.html',
      formatted_body:
        '<a href="https://matrix.to/#/@bob:x">Bob</a>, see <a href="https://a.example/?x=1&amp;y=2"><b>the docs</b></a> of https://b.example',
    };
    server.says(room, 'Bob, see the docs of https://b.example', person('Ada'), { more });
    const [message] = await received(1);
    expect(message?.content).toBe('Bob, see [the docs](https://a.example/?x=1&y=2) of https://b.example');
  });

  it('gives people the names that they have there, even after a change', async () => {
    const room = setup.server.rooms.room(person('Ada'));
    await setup.start();
    setup.server.says(room, 'one', person('Ada'));
    await received(1);
    setup.server.rooms.member(room, { ...person('Ada'), name: 'Ada\nLovelace' }, 'join');
    setup.server.says(room, 'two', person('Ada'));
    expect((await received(2)).map(({ senderName }) => senderName)).toEqual(['Ada', 'Ada Lovelace']);
  });

  it('means the bot when it is mentioned, named by older clients, or replied to, and drops its name', async () => {
    const { server } = setup;
    const room = server.rooms.room(person('Ada'), person('Bob'));
    await setup.start();
    const { id: own } = await setup.channel.send(setup.part(room.id, 'an answer'));
    server.says(room, 'Parley: one', person('Ada'), { mentions: true });
    server.says(room, `${bot().id} two`, person('Ada'));
    server.says(room, 'three', person('Ada'), {
      more: { formatted_body: `<a href="https://matrix.to/#/${bot().id}">Parley</a>: three` },
    });
    server.says(room, 'four', person('Ada'), { replyTo: own });
    server.says(room, 'Parley is nice', person('Ada'), { mentions: false });
    server.says(room, 'Parleying', person('Ada'));
    const all = await received(6);
    expect(all.map(({ content, mentioned }) => [content, mentioned])).toEqual([
      ['one', true],
      ['two', true],
      ['three', true],
      ['four', true],
      ['is nice', false],
      ['Parleying', false],
    ]);
    expect(all[3]?.quoted).toMatchObject({ text: 'an answer', by: 'bot' });
  });

  it('has threads that are separate conversations', async () => {
    const room = setup.server.rooms.room(person('Ada'));
    await setup.start();
    const root = setup.server.says(room, 'root', person('Ada'));
    const last = setup.server.says(room, 'below', person('Ada'), { thread: root.event_id });
    const fallback = { rel_type: 'm.thread', event_id: root.event_id, is_falling_back: true };
    const relation = { ...fallback, 'm.in_reply_to': { event_id: last.event_id } };
    setup.server.says(room, 'again', person('Ada'), { more: { 'm.relates_to': relation } });
    const all = await received(3);
    expect(all.map(({ threadId }) => threadId)).toEqual([undefined, root.event_id, root.event_id]);
    expect(all.map(({ quoted }) => quoted)).toEqual([undefined, undefined, undefined]);
  });

  it('quotes what is replied to, without the lines in which older clients repeat it', async () => {
    const room = setup.server.rooms.room(person('Ada'), person('Bob'));
    await setup.start();
    const { event_id: first } = setup.server.says(room, 'the tide is high', person('Bob'));
    const body = `> <${person('Bob').id}> the tide is high\n\nis that so?`;
    setup.server.says(room, body, person('Ada'), { replyTo: first });
    const [, reply] = await received(2);
    expect(reply).toMatchObject({
      content: 'is that so?',
      quoted: { text: 'the tide is high', by: 'other', author: 'Bob' },
    });
  });

  it('treats an edit as one of the message that it replaces', async () => {
    const room = setup.server.rooms.room(person('Ada'));
    await setup.start();
    const said = setup.server.says(room, 'befor', person('Ada'));
    setup.server.edits(room, said, 'before');
    const [first, edit] = await received(2);
    expect(edit).toMatchObject({ content: 'before', isEdit: true, messageId: first?.messageId });
    expect(edit?.id).not.toBe(first?.id);
  });

  it('accepts commands with an exclamation mark, and only those', async () => {
    const room = setup.server.rooms.room(person('Ada'));
    await setup.start();
    for (const text of ['!stop', '!New idea', '!important', 'a !stop', '/help', '!stopwatch'])
      setup.server.says(room, text, person('Ada'));
    await received(6);
    expect(setup.contents).toEqual(['/stop', '/new idea', '!important', 'a !stop', '/help', '!stopwatch']);
  });

  it('describes places, stickers and captions in words, and reads files and recordings', async () => {
    const room = setup.server.rooms.room(person('Ada'));
    const { server } = setup;
    await setup.start();
    server.says(room, 'here', person('Ada'), { more: { msgtype: 'm.location', geo_uri: 'geo:52.5,13.4' } });
    server.sends(room, 'look at this', Buffer.from('x'), person('Ada'), {
      msgtype: 'm.image',
      filename: 'tide.png',
    });
    server.sends(room, 'Voice message', Buffer.from('x'), person('Ada'), {
      msgtype: 'm.audio',
      info: { duration: 3_400 },
      'org.matrix.msc3245.voice': {},
    });
    server.says(room, 'x.txt', person('Ada'), {
      more: { msgtype: 'm.file', url: 'https://elsewhere.test/x' },
    });
    const all = await received(4);
    expect(all[0]?.content).toBe('[location geo:52.5,13.4]');
    expect(all[1]).toMatchObject({
      content: 'look at this',
      media: [{ kind: 'image', name: 'tide.png', bytes: 1 }],
    });
    expect(all[2]).toMatchObject({ content: '', media: [{ kind: 'voice', seconds: 3 }] });
    expect(all[3]).toMatchObject({ content: '[file x.txt, which cannot be read]', media: [] });
  });
});

describe('reactions and replies', () => {
  const asked = async () => {
    const room = setup.server.rooms.room(person('Ada'));
    await setup.start();
    const buttons = [
      { label: 'Approve', value: 'yes:1', style: 'confirm' as const },
      { label: 'Deny', value: 'no:1', style: 'danger' as const },
    ];
    const part = setup.part(room.id, 'May I?', { buttons });
    const sent = await setup.channel.send(part);
    return { room, sent, part };
  };

  it('end an answer with a thumbs-down or a stop sign, whatever its color', async () => {
    const room = setup.server.rooms.room(person('Ada'));
    await setup.start();
    const { id } = await setup.channel.send(setup.part(room.id, 'grows'));
    for (const emoji of ['❤️', '👎🏽', '⏹️', '🛑']) setup.server.reacts(room, id, emoji, person('Ada'));
    const all = await received(3);
    expect(all.map(({ stops, senderId }) => [stops, senderId])).toEqual(
      Array.from({ length: 3 }, () => [id, person('Ada').id]),
    );
  });

  it('press the buttons that are listed below a text, by number, thumb, or a reply with the word', async () => {
    const { room, sent } = await asked();
    expect(setup.server.screen(room)).toEqual(['May I?\n\n1️⃣ Approve\u20032️⃣ Deny']);
    for (const emoji of ['1️⃣', '👍🏻', '❌', '3️⃣', '🎉'])
      setup.server.reacts(room, sent.id, emoji, person('Ada'));
    setup.server.says(room, ' deny ', person('Ada'), { replyTo: sent.id });
    setup.server.says(room, '1', person('Ada'), { replyTo: sent.id });
    setup.server.says(room, 'no, because of the tide', person('Ada'), { replyTo: sent.id });
    const all = await received(6);
    expect(all.map(({ button, content }) => button ?? content)).toEqual([
      'yes:1',
      'yes:1',
      'no:1',
      'no:1',
      'yes:1',
      'no, because of the tide',
    ]);
    expect(all[0]).toMatchObject({ content: '', buttonUnder: { id: sent.id }, senderName: 'Ada' });
  });

  it('press nothing once the buttons are gone, nor on what someone else has written', async () => {
    const { room, sent } = await asked();
    await setup.channel.edit?.(sent, setup.part(room.id, 'Approved.'));
    setup.server.reacts(room, sent.id, '1️⃣', person('Ada'));
    const forged = { 'parley.buttons': [{ label: 'Yes', value: 'forged', style: 'confirm' }] };
    const { event_id } = setup.server.says(room, 'press me', person('Mallory'), { more: forged });
    setup.server.reacts(room, event_id, '1️⃣', person('Ada'));
    setup.server.says(room, 'last', person('Ada'));
    await vi.waitFor(() => expect(setup.contents).toContain('last'), WAIT);
    expect(setup.received.filter(({ button }) => button !== undefined)).toEqual([]);
  });
});

describe('what was said while the bot was offline', () => {
  it('is read once it is back, in order, from exactly where it was stored', async () => {
    const room = setup.server.rooms.room(person('Ada'));
    await setup.start();
    setup.server.says(room, 'before', person('Ada'));
    await received(1);
    await setup.channel.stop();
    const missed = Array.from({ length: 180 }, (_, n) => `missed ${n}`);
    for (const text of missed) setup.server.says(room, text, person('Ada'));
    setup.replace();
    await setup.start();
    await received(181);
    expect(setup.contents.slice(-180)).toEqual(missed);
  });

  it('is logged if there is more than is read', async () => {
    const room = setup.server.rooms.room(person('Ada'));
    await setup.start();
    await setup.channel.stop();
    const all = 50 + MAX_PAGES * 100;
    for (let n = 0; n < all + 1; n += 1) setup.server.says(room, `missed ${n}`, person('Ada'));
    setup.replace();
    await setup.start();
    await received(all);
    expect(setup.contents[0]).toBe('missed 1');
    expect(setup.log.filter((line) => line.includes('matrix_history_truncated'))).toHaveLength(1);
  });

  it('is not answered if it was said before the bot ever received', async () => {
    const room = setup.server.rooms.room(person('Ada'));
    setup.server.says(room, 'long ago', person('Ada'));
    await setup.start();
    setup.server.says(room, 'now', person('Ada'));
    await received(1);
    expect(setup.contents).toEqual(['now']);
  });

  it('stays unread while the store is unreachable, and is read when that is back', async () => {
    const room = setup.server.rooms.room(person('Ada'));
    await setup.start();
    let fails = 2;
    setup.verdict = () => {
      fails -= 1;
      const away = new StoreError('unavailable', 'The database is away.', { retryable: true });
      return fails >= 0 ? Promise.reject(away) : Promise.resolve(ACCEPTED);
    };
    setup.server.says(room, 'keep me', person('Ada'));
    await vi.waitFor(() => expect(setup.server.confirmed).toBe(setup.server.rooms.position), WAIT);
    expect(setup.contents).toEqual(['keep me', 'keep me', 'keep me']);
  });

  it('is given up if the homeserver no longer knows the position, with an error in the log', async () => {
    const room = setup.server.rooms.room(person('Ada'));
    await setup.connections.saveSession(
      `matrix:${bot().id}`,
      { id: 'of-another-life', sequence: 0, detail: {} },
      1,
    );
    await setup.start();
    await vi.waitFor(() => expect(setup.channel.health().state).toBe('up'), WAIT);
    const refused = setup.log.filter((line) => line.includes('matrix_receiving_failed'));
    expect(refused).toHaveLength(MAX_REFUSALS);
    setup.server.says(room, 'now', person('Ada'));
    await received(1);
    expect(setup.log.join()).toContain('matrix_position_refused');
  });

  it('is not given up for a few refusals', async () => {
    const room = setup.server.rooms.room(person('Ada'));
    await setup.start();
    await setup.channel.stop();
    setup.server.says(room, 'missed', person('Ada'));
    for (let n = 1; n < MAX_REFUSALS; n += 1)
      setup.server.failures.push({ kind: 'refuse', status: 400, errcode: 'M_UNKNOWN', match: /\/sync$/ });
    setup.replace();
    await setup.start();
    await received(1);
    expect(setup.contents).toEqual(['missed']);
  });
});

describe('health', () => {
  it('reports that the homeserver is unreachable, and that it is back', async () => {
    await setup.start();
    for (let n = 0; n < 5; n += 1)
      setup.server.failures.push({ kind: 'status', status: 502, match: /\/sync$/ });
    setup.server.rooms.room(person('Ada'));
    await vi.waitFor(() => expect(setup.channel.health()).toMatchObject({ state: 'degraded' }), WAIT);
    await vi.waitFor(() => expect(setup.channel.health()).toEqual({ state: 'up' }), WAIT);
  });

  it('puts failed syncs into the log as one warning a minute', async () => {
    await setup.close();
    let [now, total] = [0, 0];
    setup = await MatrixSetup.open({ timing: { monotonicMs: () => now } });
    const fail = async (syncs: number) => {
      total += syncs;
      for (let n = 0; n < syncs; n += 1)
        setup.server.failures.push({ kind: 'status', status: 502, match: /\/sync$/ });
      setup.server.rooms.room(person('Ada'));
      await vi.waitFor(() => expect(failedSyncs('all')).toHaveLength(total), WAIT);
      await vi.waitFor(() => expect(setup.channel.health()).toEqual({ state: 'up' }), WAIT);
    };
    await setup.start();
    await fail(3);
    expect(failedSyncs('warnings')).toHaveLength(1);
    now = WARNED_EVERY_MS - 1;
    await fail(2);
    expect(failedSyncs('warnings')).toHaveLength(1);
    now = WARNED_EVERY_MS;
    await fail(2);
    expect(failedSyncs('warnings')).toHaveLength(2);
  });
});

/** Lines of the log about failed syncs, of any level or only warnings. */
function failedSyncs(which: 'all' | 'warnings'): string[] {
  const lines = setup.log.filter((line) => line.includes('matrix_receiving_failed'));
  return which === 'all' ? lines : lines.filter((line) => line.includes('"level":40'));
}
