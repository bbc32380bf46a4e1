/** The part of the channel contract about sent files: each with exactly its bytes, once, in its chat, or a clear refusal. */
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { OutboundFile } from '../../src/protocol/channel.ts';
import { ChannelError, GatewayError } from '../../src/protocol/errors.ts';
import type { MediaKind } from '../../src/protocol/media.ts';
import { parseMarkdown } from '../../src/lib/markdown/markdown.ts';
import { OGG, PNG } from '../fakes/media/media-bytes.ts';
import type { ChannelHarness } from './channel-harness.ts';

const KINDS: [kind: MediaKind, name: string, mimeType: string, bytes: Buffer][] = [
  ['image', 'chart.png', 'image/png', PNG],
  ['image', 'broken.png', 'image/png', Buffer.from('no image at all')],
  ['image', 'moving.gif', 'image/gif', Buffer.from('GIF89a…')],
  ['voice', 'said.ogg', 'audio/ogg', OGG],
  ['voice', 'said.wav', 'audio/wav', Buffer.from('RIFF…')],
  ['audio', 'song.mp3', 'audio/mpeg', Buffer.from('ID3…')],
  ['video', 'film.mp4', 'video/mp4', Buffer.from('…ftypisom')],
  ['file', 'Bericht für "Ä"; v2.pdf', 'application/pdf', Buffer.from('%PDF-1.7')],
];

/** Adds the tests to the suite of a channel; `harness` returns the one of the running test. */
export function sentFilesContract(harness: () => ChannelHarness): void {
  describe('sending files', () => {
    let folder: string;
    let made = 0;
    beforeEach(async () => {
      folder = await mkdtemp(path.join(tmpdir(), 'parley-test-'));
    });
    afterEach(async () => {
      await rm(folder, { recursive: true });
    });

    const make = async (
      bytes: Buffer | number,
      more: Partial<OutboundFile> = {},
      caption?: string,
    ): Promise<OutboundFile> => {
      const { channel, chats } = harness();
      const nonce = `file ${(made += 1)}`;
      const file = path.join(folder, nonce);
      await writeFile(file, typeof bytes === 'number' ? 'x' : bytes);
      const size = typeof bytes === 'number' ? bytes : bytes.length;
      await truncate(file, size);
      return {
        channel: channel.name,
        chatId: chats[0].chatId,
        kind: 'file',
        name: 'notes.txt',
        mimeType: 'text/plain',
        bytes: size,
        path: file,
        nonce,
        ...(caption !== undefined && { caption: channel.render(parseMarkdown(caption)) }),
        ...more,
      };
    };
    const send = async (file: OutboundFile) => await harness().channel.sendFile?.(file);
    const shown = (chat = harness().chats[0]) => harness().files?.(chat.chatId) ?? [];

    it('are declared by exactly the channels that accept them', () => {
      const { channel } = harness();
      const { media, maxFileBytes, maxCaption } = channel.capabilities;
      const promised = [
        channel.sendFile !== undefined,
        maxFileBytes > 0,
        maxCaption > 0,
        'files' in harness(),
      ];
      expect(new Set(promised)).toEqual(new Set([media]));
    });

    it('shows a file with exactly its bytes and its caption, in its chat only, without being started', async () => {
      if (!harness().channel.capabilities.media) return;
      const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, index) => index % 256));
      const sent = await send(await make(bytes, {}, 'the **whole** of it'));
      expect(sent?.id).toMatch(/./);
      expect(shown()).toEqual([{ name: 'notes.txt', bytes, caption: 'the whole of it' }]);
      expect(shown(harness().chats[1])).toEqual([]);
    });

    it.each(KINDS)(
      'shows every kind of file, as its kind or else as a plain one: %s %s',
      async (kind, name, mimeType, bytes) => {
        if (!harness().channel.capabilities.media) return;
        await send(await make(bytes, { kind, name, mimeType }));
        const [file] = shown();
        expect(file?.bytes).toEqual(bytes);
        expect(file?.name.endsWith(path.extname(name))).toBe(true);
      },
    );

    it('accepts the longest caption and the largest file it declares, and permanently refuses more', async () => {
      const { capabilities } = harness().channel;
      if (!capabilities.media) return;
      await send(await make(capabilities.maxFileBytes, {}, 'y'.repeat(capabilities.maxCaption)));
      expect(shown()[0]?.caption).toHaveLength(capabilities.maxCaption);
      expect(shown()[0]?.bytes).toHaveLength(capabilities.maxFileBytes);
      const large = capabilities.maxFileBytes + 4 * 1024 * 1024;
      const refusals = [await make(large), await make(PNG, {}, 'n'.repeat(capabilities.maxCaption + 1))];
      for (const file of refusals) expect(await failure(send(file))).toMatchObject({ code: 'rejected' });
      expect(shown()).toHaveLength(1);
    });

    it('is refused like a text: a pause with its time, a user who has blocked the bot', async () => {
      const { channel, chats } = harness();
      if (!channel.capabilities.media) return;
      harness().rateLimits?.(3_000);
      const error = await failure(send(await make(PNG)));
      expect(error).toMatchObject({ code: 'rate_limited', retryable: true });
      expect(error.retryAfterMs).toBeGreaterThanOrEqual(3_000);
      harness().blocks?.(chats[1].chatId);
      const file = await make(PNG, { chatId: chats[1].chatId });
      expect((await failure(send(file))).code).toMatch(/^(blocked|rate_limited)$/);
      expect(shown()).toEqual([]);
    });

    it('is on screen once when its answer was lost, or reports outcome_unknown', async () => {
      const { channel } = harness();
      if (!channel.capabilities.media) return;
      harness().losesFileAnswer?.();
      const outcome = await send(await make(PNG)).then(
        () => 'sent',
        (error: unknown) => (error instanceof GatewayError ? error.code : 'foreign'),
      );
      expect(['sent', 'outcome_unknown']).toContain(outcome);
      expect(shown()).toHaveLength(1);
    });

    it('reveals no secret and no local path when a file cannot be read', async () => {
      if (!harness().channel.capabilities.media) return;
      const file = { ...(await make(PNG)), path: path.join(folder, 'gone') };
      const error = await failure(send(file));
      expect(error.message).not.toContain(folder);
      expect(shown()).toEqual([]);
    });

    async function failure(call: Promise<unknown>): Promise<ChannelError> {
      const error: unknown = await call.catch((thrown: unknown) => thrown);
      if (!(error instanceof ChannelError)) throw new Error(`no ChannelError but ${String(error)}`);
      return error;
    }
  });
}
