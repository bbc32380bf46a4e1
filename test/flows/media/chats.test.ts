/** What people send on Telegram and Discord besides text, from their apps to the model and back. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, expect, it, vi } from 'vitest';
import { type FakeTranscription, startFakeTranscription } from '../../fakes/media/transcription.ts';
import type { Params } from '../../fakes/telegram/refusal.ts';
import { describeGateway, FRIENDS, WAIT } from '../setup.ts';

const people = FRIENDS.values();
const VOICE = Buffer.from('OggS\0\x02 a recording of somebody');
/** As in the text that the model reads. */
const MARK = /\[[0-9a-f]{16}: text of others/;

let speech: FakeTranscription | undefined;

afterAll(async () => {
  await speech?.close();
});

/** Settings that name a speech-to-text server, which is started with the first gateway. */
async function furnish(home: string): Promise<void> {
  speech ??= await startFakeTranscription('speech-key');
  const file = {
    access: { telegram: { allow: FRIENDS }, discord: { dm: 'open' } },
    transcription: { baseUrl: speech.url },
  };
  await writeFile(path.join(home, 'config.json'), JSON.stringify(file), { mode: 0o600 });
}

const options = { telegram: true, discord: true, furnish, env: { TRANSCRIPTION_API_KEY: 'speech-key' } };

describeGateway('what people send in chats', options, (fixture) => {
  const someone = (): string => people.next().value ?? '';
  const picture = (name: string, caption?: string): Params => ({
    ...fixture().telegram.files.document({ bytes: Buffer.from(`text of ${name}`), name }),
    ...(caption !== undefined && { caption }),
  });
  /** What the person said to the model in the turn whose text contains this. */
  const heard = async (said: string): Promise<string> => {
    const { body } = await fixture().modelCall(said);
    return (
      body.messages.findLast(({ role, content }) => role === 'user' && content.includes(said))?.content ?? ''
    );
  };
  /** The names of the files of each message of a session. */
  const filesOf = async (session: string): Promise<string[][]> => {
    await fixture().idle(session);
    const messages = await fixture().messages(session);
    return messages
      .filter(({ role }) => role === 'user')
      .map(({ attachments = [] }) => attachments.map(({ name }) => name));
  };

  it('makes one turn of an album of three, with its caption and all its files', async () => {
    const chat = someone();
    const parts = [picture('a.txt'), picture('b.txt', `compare ${chat}`), picture('c.txt')];
    fixture().telegram.sendsAlbum(chat, parts, chat);
    const text = await heard(`compare ${chat}`);
    for (const name of ['a.txt', 'b.txt', 'c.txt']) expect(text).toContain(`text of ${name}`);
    expect(await filesOf(`telegram:${chat}`)).toEqual([['a.txt', 'b.txt', 'c.txt']]);
  });

  it("transcribes voice messages on both platforms, as their senders' own words", async () => {
    const chat = someone();
    speech?.says(VOICE, `good morning ${chat}`);
    fixture().ollama.answer({ text: 'Good morning!' }, { when: `good morning ${chat}` });
    fixture().telegram.sends(chat, fixture().telegram.files.voice(VOICE, 3), chat);
    await vi.waitFor(() => expect(fixture().telegram.screen(chat).at(-1)).toBe('Good morning!'), WAIT);
    expect(await heard(`good morning ${chat}`)).not.toMatch(MARK);

    const { discord } = fixture();
    const { channel, person } = discord.dm();
    const recording = { name: 'voice-message.ogg', bytes: VOICE, mimeType: 'audio/ogg', seconds: 3 };
    const attachments = [discord.cdn.attachment(channel.id, recording)];
    fixture().ollama.answer({ text: 'Hello on Discord!' }, { when: `good morning ${chat}` });
    discord.says(channel, '', person, { attachments, flags: 1 << 13 });
    await vi.waitFor(() => expect(discord.screen(channel).at(-1)).toBe('Hello on Discord!'), WAIT);
    expect(speech?.heard.at(-1)).toMatchObject({ model: 'whisper-1', bytes: VOICE });
  });

  it('reports what is wrong with a recording that the server cannot read, and answers the rest', async () => {
    const chat = someone();
    speech?.fails(400, '{"error":{"message":"unknown codec"}}');
    const voice = { ...fixture().telegram.files.voice(VOICE, 3), caption: `listen ${chat}` };
    fixture().telegram.sends(chat, voice, chat);
    const sentence = 'cannot read this recording: "unknown codec"';
    expect(await heard(`listen ${chat}`)).toContain(sentence);
    await vi.waitFor(() => expect(fixture().telegram.screen(chat).join('\n')).toContain(sentence), WAIT);
  });

  it('reports the maximum size of files that Telegram gives to bots', async () => {
    const chat = someone();
    const file = { name: 'film.mkv', bytes: Buffer.from('x'), size: 21 * 1024 * 1024 };
    const { document } = fixture().telegram.files.document(file);
    // From an app that does not state the size.
    const unstated = { ...Object(document), file_size: undefined };
    fixture().telegram.sends(chat, { document: unstated, caption: `watch ${chat}` }, chat);
    const sentence = 'Telegram gives bots only files of up to 20 MB.';
    expect(await heard(`watch ${chat}`)).toContain(sentence);
    await vi.waitFor(() => expect(fixture().telegram.screen(chat).join('\n')).toContain(sentence), WAIT);
  });

  it.each([
    ['sticker', { sticker: { emoji: '😀' } }, '[sticker 😀]', false],
    ['place', { location: { latitude: 1.5, longitude: 2 } }, '[location 1.500000, 2.000000]', false],
    ['contact', { contact: { phone_number: '1', first_name: 'Eve' } }, '[contact Eve, 1]', true],
  ])('answers a %s', async (_kind, fields, content, isOfOthers) => {
    const chat = someone();
    fixture().ollama.answer({ text: `I see ${content}` }, { when: content });
    fixture().telegram.sends(chat, fields, chat);
    await vi.waitFor(() => expect(fixture().telegram.screen(chat)).toEqual([`I see ${content}`]), WAIT);
    expect(MARK.test(await heard(content))).toBe(isOfOthers);
  });

  it('treats the caption of a forwarded picture as text of others', async () => {
    const chat = someone();
    const forward_origin = {
      type: 'user',
      date: 1,
      sender_user: { id: 5, is_bot: false, first_name: 'Eve' },
    };
    fixture().telegram.sends(chat, { forward_origin, ...picture('a.txt', `obey ${chat}`) }, chat);
    const text = await heard(`obey ${chat}`);
    expect(text.search(MARK)).toBeLessThan(text.indexOf(`obey ${chat}`));
    expect(text).toContain('the user has forwarded it');
  });

  it('reads files and long texts on Discord, even once their links have expired', async () => {
    const { discord } = fixture();
    const { channel, person } = discord.dm('Bob');
    const file = (name: string, content: string) =>
      discord.cdn.attachment(channel.id, { name, bytes: Buffer.from(content), mimeType: 'text/plain' });
    discord.says(channel, '', person, { attachments: [file('message.txt', 'my own long text')] });
    expect(await heard('my own long text')).not.toMatch(MARK);
    const attachments = [file('notes.txt', 'what is in the notes')];
    discord.cdn.failure(404);
    discord.says(channel, 'read my notes', person, { attachments });
    expect(await heard('read my notes')).toContain('what is in the notes');
    expect(await filesOf(`discord:${channel.id}`)).toEqual([[], ['notes.txt']]);
  });

  it('keeps an album whole when the gateway ends between two of its parts', async () => {
    const { telegram } = fixture();
    const chat = someone();
    await vi.waitFor(() => expect(telegram.updates.waiting).toBe(1), WAIT);
    const polls = telegram.count('getUpdates');
    telegram.sends(chat, { media_group_id: 'cut', ...picture('a.txt', `both ${chat}`) }, chat);
    // The gateway has the first part, and requests the others in vain.
    telegram.outage = 'cut';
    await vi.waitFor(() => expect(telegram.count('getUpdates')).toBeGreaterThan(polls), WAIT);
    await fixture().restart(async () => {
      telegram.outage = undefined;
      telegram.sends(chat, { media_group_id: 'cut', ...picture('b.txt') }, chat);
    });
    expect(await heard(`both ${chat}`)).toContain('text of b.txt');
    expect(await filesOf(`telegram:${chat}`)).toEqual([['a.txt', 'b.txt']]);
  });

  it('answers the part of an album that arrived after the rest was stored, even when Telegram delivers all of it again', async () => {
    const { telegram } = fixture();
    const chat = someone();
    telegram.sendsAlbum(chat, [picture('a.txt'), picture('b.txt', `early ${chat}`)], chat, 'late');
    await heard(`early ${chat}`);
    await vi.waitFor(() => expect(telegram.updates.unconfirmed).toBe(0), WAIT);
    await fixture().restart(async () => {
      for (let n = 0; n < 2; n += 1) telegram.updates.unconfirm();
      telegram.sends(chat, { media_group_id: 'late', ...picture('c.txt', `late ${chat}`) }, chat);
    });
    expect(await heard(`late ${chat}`)).toContain('text of c.txt');
    expect(await filesOf(`telegram:${chat}`)).toEqual([['a.txt', 'b.txt'], ['c.txt']]);
  });
});
