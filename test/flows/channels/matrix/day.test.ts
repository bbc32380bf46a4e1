/**
 * A day on Matrix: a room of three people that talk mostly with each other, and an encrypted chat of one of them, with events in the
 * shapes that Element sends. What the model hears, and what each person sees.
 */
import { afterAll, expect, it, vi } from 'vitest';
import { addressOf } from '../../../../src/protocol/message.ts';
import { riskyTools } from '../../../fakes/agent/risky-tools.ts';
import { EncryptingClient } from '../../../fakes/matrix/encrypting-client.ts';
import { FakeHomeserver, MATRIX_TOKEN } from '../../../fakes/matrix/homeserver.ts';
import type { FakeEvent, FakePerson } from '../../../fakes/matrix/rooms.ts';
import { lastUserText } from '../../../fakes/model/spoken-text.ts';
import { describeGateway, WAIT } from '../../setup.ts';

const server = await FakeHomeserver.open();
const env = { MATRIX_URL: server.root, MATRIX_TOKEN };
afterAll(() => server.close());
const { rooms } = server;
const [ada, bob, cem] = [rooms.person('Ada'), rooms.person('Bob'), rooms.person('Cem')];
const ran: string[] = [];

/** What people write to each other before lunch. */
const MORNING: readonly [FakePerson, string][] = [
  [ada, 'Morning all'],
  [bob, 'Morning'],
  [cem, 'o/'],
  [ada, 'Trains are late again'],
  [bob, 'as every Monday 🙄'],
  [cem, 'working from home today'],
  [ada, 'https://status.example.org says 40 minutes'],
  [bob, '> 40 minutes\nthat is optimistic'],
  [cem, '*looks outside*'],
  [ada, 'ok, coffee first'],
  [bob, 'I pushed the fix'],
  [cem, 'which one?'],
  [bob, 'the one for the attic sensor'],
  [cem, '👏'],
  [ada, 'nice'],
];

// A day takes seconds here, in which nobody may write too fast.
const file = { limits: { messagesPerMinute: 600, messagesAtOnce: 100 } };

describeGateway('A day on Matrix', { env, file, tools: riskyTools(ran) }, (fixture) => {
  /** The words that the model was asked with, without its notes. */
  const heard = (): string[] => fixture().ollama.calls.map(({ body }) => lastUserText(body));
  const shown = async (room: Parameters<typeof server.screen>[0], last: string): Promise<string[]> =>
    await vi.waitFor(() => {
      const screen = server.screen(room);
      expect(screen.at(-1)).toBe(last);
      return screen;
    }, WAIT);

  it('hears in a room what is meant for it, with what it answers, and shows each answer where it was asked', async () => {
    const room = rooms.room(ada, bob, cem);
    await fixture().store.access.addGrant('matrix', 'group', room.id);
    const { ollama } = fixture();
    const chatter = MORNING.map(([person, text]) => server.says(room, text, person, { mentions: false }));
    const asks = (
      text: string,
      person: FakePerson,
      more: Parameters<typeof server.says>[3] = {},
    ): FakeEvent => server.says(room, `Parley: ${text}`, person, { ...more, mentions: true });

    ollama.answer('Soup.', { when: "what's for lunch?" });
    asks("what's for lunch?", ada);
    await shown(room, 'Soup.');
    const [lunch] = server.visible(room);
    server.reacts(room, lunch?.id ?? '', '❤️', bob);
    server.reacts(room, chatter[9]?.event_id ?? '', '☕', cem);

    // Element's fallback for clients without replies.
    ollama.answer('Apple pie.', { when: 'and for dessert?' });
    const fallback = `> <${rooms.bot.id}> Soup.\n\nand for dessert?`;
    server.says(room, fallback, bob, {
      replyTo: lunch?.id ?? '',
      more: {
        format: 'org.matrix.custom.html',
        formatted_body: `<mx-reply><blockquote>Soup.</blockquote></mx-reply>and for dessert?`,
      },
    });
    await shown(room, 'Apple pie.');

    server.edits(room, chatter[3]!, 'Trains are late again, all of them');
    server.says(room, 'Apple pie!', cem, { mentions: false });
    rooms.redact(room, chatter[8]!.event_id, cem.id);

    const thread = server.says(room, 'The deploy failed with exit code 137.', bob, {
      mentions: false,
    }).event_id;
    for (const [person, text] of [
      [ada, 'Looks like OOM on node-7.'],
      [cem, 'It has 2 GB.'],
      [bob, 'Had 4 last week'],
    ] as const)
      server.says(room, text, person, { thread, mentions: false });
    ollama.answer('Node-7 ran out of memory.', { when: 'sum this up' });
    asks('sum this up', cem, { thread });
    await shown(room, 'Node-7 ran out of memory.');
    ollama.answer('Four gigabytes.', { when: 'how much did it have' });
    server.says(room, 'how much did it have before?', cem, { thread });
    await shown(room, 'Four gigabytes.');
    expect(
      server
        .visible(room)
        .slice(-2)
        .map((one) => one.thread),
    ).toEqual([thread, thread]);

    ollama.answer('A list of sensors.', { when: 'what is in this file?' });
    server.sends(room, 'sensors.txt', Buffer.from('attic 21 °C\ncellar 12 °C'), ada, {
      body: `Parley: what is in this file?`,
      filename: 'sensors.txt',
      'm.mentions': { user_ids: [rooms.bot.id] },
      info: { size: 26, mimetype: 'text/plain' },
    });
    await shown(room, 'A list of sensors.');
    for (const [person, text] of MORNING.slice(0, 10))
      server.says(room, `${text} (afternoon)`, person, { mentions: false });
    ollama.answer('Good night, Ada.', { when: 'good night' });
    asks('good night', ada);

    expect(await shown(room, 'Good night, Ada.')).toEqual([
      'Soup.',
      'Apple pie.',
      'Node-7 ran out of memory.',
      'Four gigabytes.',
      'A list of sensors.',
      'Good night, Ada.',
    ]);
    const words = heard().map((text) => text.replaceAll(/[0-9a-f]{16}/g, '#'));
    expect(words).toHaveLength(6);
    expect(words[0]).toContain("what's for lunch?");
    expect(words[1]).toMatch(/an earlier message of yours.*\]\nSoup\.\n[\s\S]*and for dessert\?/);
    expect(words[1]).not.toContain('<@');
    expect(words[2]).toContain(
      'Bob: The deploy failed with exit code 137.\nAda: Looks like OOM on node-7.\nCem: It has 2 GB.\nBob: Had 4 last week\n',
    );
    expect(words[3]).toContain('how much did it have before?');
    expect(words[4]).toContain('attic 21 °C');
    expect(words.join('\n')).not.toMatch(/Trains are late|afternoon|looks outside|Apple pie!/);
    expect(rooms.read).not.toContain(chatter[0]?.event_id);
  });

  it('keeps an encrypted chat secret, through edits, files and an approval at night', async () => {
    const { ollama } = fixture();
    await fixture().store.access.addGrant('matrix', 'dm', ada.id);
    const room = rooms.room(ada);
    rooms.encrypt(room, ada);
    await vi.waitFor(() => expect(server.keys.deviceIds(rooms.bot.id)).toHaveLength(1), WAIT);
    const phone = await EncryptingClient.open(server, ada);
    const sees = async (last: string): Promise<void> => {
      await expect.poll(async () => (await phone.screen(room)).at(-1), WAIT).toContain(last);
    };
    ollama.answer('Under the third flowerpot.', { when: 'where is the spare key?' });
    await phone.says(room, 'where is the spare key?');
    await sees('Under the third flowerpot.');

    const [first] = room.events.filter(
      ({ type, sender }) => type === 'm.room.encrypted' && sender === rooms.bot.id,
    );
    ollama.answer('Yes, the third.', { when: 'are you sure?' });
    await phone.says(room, {
      msgtype: 'm.text',
      body: 'are you sure?',
      'm.relates_to': { 'm.in_reply_to': { event_id: first?.event_id } },
    });
    await sees('Yes, the third.');

    ollama.answer(
      { toolCalls: [{ name: 'wipe', args: { word: 'the attic disk' } }] },
      { when: 'wipe the attic disk' },
    );
    ollama.answer('The disk is empty.', { when: 'wipe the attic disk' });
    await phone.says(room, 'wipe the attic disk, please');
    await sees('1️⃣ Approve');
    expect(ran).toEqual([]);
    const card = room.events.findLast(
      ({ type, sender, content }) =>
        type === 'm.room.encrypted' && sender === rooms.bot.id && content['m.relates_to'] === undefined,
    );
    server.reacts(room, card?.event_id ?? '', '1️⃣', ada);
    await sees('The disk is empty.');
    expect(ran).toEqual(['wipe the attic disk']);
    expect((await phone.screen(room)).join('\n')).toContain('Approved by Ada');

    await fixture().idle(addressOf({ channel: 'matrix', chatId: room.id }));
    const stored = await fixture().messages(addressOf({ channel: 'matrix', chatId: room.id }));
    expect(stored.map(({ content }) => content)).toContain('Under the third flowerpot.');
    const events = JSON.stringify(room.events);
    for (const secret of ['flowerpot', 'spare key', 'attic disk', 'Approved by'])
      expect([events, ...server.traffic].some((text) => text.includes(secret))).toBe(false);
  });
});
