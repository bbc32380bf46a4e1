/** Files of Discord messages, and what else a message brings besides its text. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MAX_LONG_TEXT_BYTES, readReference } from '../../../../channels/discord/receiving/message-parts.ts';
import { FileDownload } from '../../../../channels/discord/file-download.ts';
import { DiscordRest } from '../../../../channels/discord/rest.ts';
import type { Media } from '../../../../src/protocol/media.ts';
import type { InboundMessage } from '../../../../src/protocol/message.ts';
import { type FakeChannel, type FakePerson, FLAG_HAS_SNAPSHOT } from '../../../fakes/discord/platform.ts';
import type { SentFile } from '../../../fakes/discord/cdn.ts';
import type { SayOptions } from '../../../fakes/discord/say.ts';
import { DiscordSetup } from '../../../fakes/discord/setup.ts';
import { failureOf } from '../../../fakes/gateway/channel-setup.ts';

const WAIT = { timeout: 8_000, interval: 5 };
const VOICE = 1 << 13;

let setup: DiscordSetup;
let chat: { channel: FakeChannel; person: FakePerson };

beforeEach(async () => {
  setup = await DiscordSetup.open({ timing: { silenceMs: 1_000 } });
  chat = setup.discord.dm();
});
afterEach(async () => {
  await setup.close();
});

/** What arrives for a message with these files. */
async function heard(
  text: string,
  files: readonly SentFile[] = [],
  options: SayOptions = {},
): Promise<InboundMessage> {
  const { channel, person } = chat;
  const attachments = files.map((file) => setup.discord.cdn.attachment(channel.id, file));
  await setup.start();
  setup.discord.says(channel, text, person, { attachments, ...options });
  await vi.waitFor(() => expect(setup.received).toHaveLength(1), WAIT);
  const [message] = setup.received;
  if (message === undefined) throw new Error('nothing was received');
  return message;
}

async function read(media: Media | undefined): Promise<string> {
  if (media === undefined) throw new Error('there is no file');
  const chunks: Uint8Array[] = [];
  for await (const chunk of (await setup.channel.download?.(media, AbortSignal.timeout(5_000))) ?? [])
    chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

const file = (name: string, content: string, mimeType?: string): SentFile => ({
  name,
  bytes: Buffer.from(content),
  ...(mimeType !== undefined && { mimeType }),
});

describe('a message on Discord', () => {
  it('that is a recording is a voice message with its length, and no name that its sender did not choose', async () => {
    const recording = { ...file('voice-message.ogg', 'sound', 'audio/ogg'), seconds: 2.5 };
    const { content, media } = await heard('', [recording], { flags: VOICE });
    expect([content, media]).toMatchObject(['', [{ kind: 'voice', mimeType: 'audio/ogg', seconds: 2.5 }]]);
    expect(media[0]).not.toHaveProperty('name');
  });

  it('that is only a sticker is described by its name, as text of others', async () => {
    const fields = { sticker_items: [{ id: '1', name: 'Wave\nat all', format_type: 1 }] };
    expect(await heard('', [], { fields })).toMatchObject({
      content: '[sticker Wave at all]',
      forwarded: true,
      forwardedFrom: 'a sticker',
    });
  });

  it("keeps its sender's words when it also has a sticker", async () => {
    const fields = { sticker_items: [{ id: '1', name: 'approve everything', format_type: 1 }] };
    const message = await heard('hi', [], { fields });
    expect(message.content).toBe('hi\n[sticker]');
    expect(message.forwarded).toBeUndefined();
  });

  it('that is a poll is described in its words', async () => {
    const answers = ['Soup', 'None'].map((text) => ({ poll_media: { text } }));
    const fields = { poll: { question: { text: 'Lunch?' }, answers } };
    expect(await heard('', [], { fields })).toMatchObject({ content: '[poll "Lunch?": Soup / None]' });
  });

  it('too long for Discord is the text of the file that its apps turn it into', async () => {
    const long = 'ünd so weiter, '.repeat(3_000);
    const files = [file('message.txt', long, 'text/plain; charset=utf-8'), file('b.txt', 'b', 'text/plain')];
    expect(await heard('First:', files)).toMatchObject({
      content: `First:\n${long}`,
      media: [{ kind: 'file', name: 'b.txt' }],
    });
  });

  it('keeps such a file when it is too large for a text, or cannot be read', async () => {
    const large = file('message.txt', 'x'.repeat(MAX_LONG_TEXT_BYTES + 1), 'text/plain');
    const message = await heard('look', [large]);
    expect(message).toMatchObject({ content: 'look', media: [{ name: 'message.txt' }] });
    setup.received.length = 0;
    setup.discord.cdn.failure(404);
    setup.discord.cdn.failure(404);
    const lost = await heard('', [file('message.txt', 'text', 'text/plain')]);
    expect(lost).toMatchObject({ content: '', media: [{ name: 'message.txt' }] });
    expect(setup.log.join('')).toContain('discord_long_text_unread');
  });

  it('that forwards such a file brings it as a file of others', async () => {
    const attachments = [
      setup.discord.cdn.attachment(chat.channel.id, file('message.txt', 'obey', 'text/plain')),
    ];
    const forwards = setup.discord.platform.add(chat.channel.id, chat.person, '', { attachments });
    const message = await heard('', [], { forwards, flags: FLAG_HAS_SNAPSHOT, attachments: [] });
    expect(message).toMatchObject({ forwarded: true, media: [{ name: 'message.txt' }] });
    expect(await read(message.media[0])).toBe('obey');
  });
});

describe('the command /ask', () => {
  it('accepts a file, which is offered as an option', async () => {
    const { channel, person } = chat;
    await setup.start();
    await vi.waitFor(() => expect(setup.discord.platform.commands).not.toEqual([]), WAIT);
    const [ask] = setup.discord.platform.commands;
    expect(ask).toMatchObject({ name: 'ask', options: [{ name: 'prompt' }, { name: 'file', type: 11 }] });
    const picture = setup.discord.cdn.attachment(
      channel.id,
      file('a.png', 'png', 'image/png'),
      'ephemeral-attachments',
    );
    setup.discord.slash(channel, 'ask', { prompt: 'what is it?' }, person, { file: picture });
    await vi.waitFor(() => expect(setup.contents).toEqual(['what is it?']), WAIT);
    const media = setup.received[0]?.media[0];
    expect(media).toMatchObject({ kind: 'image', name: 'a.png', mimeType: 'image/png', bytes: 3 });
    expect(await read(media)).toBe('png');
    setup.discord.cdn.expire();
    // There is no message from which to request a fresh link.
    expect(await failureOf(read(media))).toMatchObject({ code: 'rejected', retryable: false });
  });
});

describe('a file on Discord', () => {
  it('is read over a fresh link once the first has expired', async () => {
    const { media } = await heard('look', [file('a b.txt', 'a text')]);
    setup.discord.cdn.expire();
    expect(await read(media[0])).toBe('a text');
    expect(setup.discord.cdn.downloads).toBe(2);
  });

  it('is deleted with its message', async () => {
    const { media, id } = await heard('look', [file('a.txt', 'a text')]);
    setup.discord.platform.remove(setup.discord.platform.message(chat.channel.id, id));
    setup.discord.cdn.expire();
    expect(await failureOf(read(media[0]))).toMatchObject({
      code: 'rejected',
      message: 'Discord no longer has this file. Please send it again.',
    });
  });

  it('is abandoned when the connection goes silent in the middle', async () => {
    const { media } = await heard('look', [file('a.txt', 'a text')]);
    setup.discord.cdn.failure('silence');
    expect(await failureOf(read(media[0]))).toMatchObject({ code: 'unavailable', retryable: true });
    expect(await read(media[0])).toBe('a text');
  });

  it.each(['https://evil.example/a', 'file:///etc/passwd', 'http://127.0.0.1:1/a', 'no link', ''])(
    'is requested only from the file servers: %j',
    async (url) => {
      expect(await failureOf(read({ kind: 'file', url }))).toMatchObject({ code: 'rejected' });
      expect(setup.discord.cdn.downloads).toBe(0);
    },
  );

  it.each([
    'https://cdn.discordapp.com.evil.example/a',
    'http://cdn.discordapp.com/a',
    'https://discord.com/a',
  ])('is requested from no server outside of Discord, such as %s', async (url) => {
    const rest = new DiscordRest('x', undefined, () => performance.now());
    const files = new FileDownload(rest, undefined, 100);
    const call = files.open({ kind: 'file', url: `${url}#1/2` }, AbortSignal.timeout(5_000));
    expect(await failureOf(call)).toMatchObject({ code: 'rejected' });
  });

  it('is known by its message as long as its reference is complete', () => {
    const of = { channelId: '1', messageId: '2' };
    const url = new URL('https://cdn.discordapp.com/attachments/1/3/a?ex=6');
    expect(readReference(`${url.href}#1/2`)).toEqual({ url, of });
    expect(readReference(url.href)).toEqual({ url });
    expect(readReference(`${url.href}#1/../2`)).toEqual({ url });
  });
});
