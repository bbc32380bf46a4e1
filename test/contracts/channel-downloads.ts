/** The part of the channel contract about files that come with messages. */
import { createHash } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, it, vi } from 'vitest';
import type { Channel } from '../../src/protocol/channel.ts';
import { ChannelError } from '../../src/protocol/errors.ts';
import type { Media } from '../../src/protocol/media.ts';
import { type ReceivingPart, WAIT } from './channel-harness.ts';

/** More than a socket buffers, so that a stream can break off in the middle. */
const CONTENT = Buffer.alloc(3 * 1024 * 1024, 'a file of many bytes. ');

/** Runs the part over the harness of each test. */
export function downloadContract({ harness, receive, received }: ReceivingPart): void {
  /** A file that arrived with a message. */
  const arrived = async (name = 'report.txt'): Promise<Media> => {
    await harness().channel.start(receive);
    harness().sendsFile?.(harness().chats[0], name, CONTENT);
    await vi.waitFor(() => expect(received()).toHaveLength(1), WAIT);
    const media = received()[0]?.media ?? [];
    expect(media).toMatchObject([{ name, bytes: CONTENT.length }]);
    expect(inspect(media)).not.toContain(harness().secret);
    return media[0] ?? { kind: 'file', url: '' };
  };
  const read = async (
    channel: Channel,
    media: Media,
    signal = new AbortController().signal,
  ): Promise<string> => {
    const hash = createHash('sha256');
    for await (const chunk of (await channel.download?.(media, signal)) ?? []) hash.update(chunk);
    return hash.digest('hex');
  };
  const failure = async (reading: Promise<string>): Promise<ChannelError> => {
    const error: unknown = await reading.catch((thrown: unknown) => thrown);
    if (!(error instanceof ChannelError)) throw new Error(`no ChannelError but ${inspect(error)}`);
    expect(inspect(error, { depth: 10, showHidden: true })).not.toContain(harness().secret);
    return error;
  };
  const sha256 = createHash('sha256').update(CONTENT).digest('hex');

  describe('files of messages', () => {
    it('are read byte for byte, any number of times, even after the channel has stopped', async () => {
      const media = await arrived();
      const { channel } = harness();
      expect(await read(channel, media)).toBe(sha256);
      await channel.stop();
      expect(await read(channel, media)).toBe(sha256);
    });

    it.each(['cut', 500, 503, 429] as const)(
      'can be read again after a download that failed (%s)',
      async (kind) => {
        const media = await arrived();
        const { channel } = harness();
        harness().failsDownload?.(kind);
        expect(await failure(read(channel, media))).toMatchObject({ retryable: true });
        expect(await read(channel, media)).toBe(sha256);
      },
    );

    it('are refused permanently when the platform no longer has them', async () => {
      const media = await arrived();
      const { channel } = harness();
      for (let n = 0; n < 2; n += 1) harness().failsDownload?.(404);
      expect(await failure(read(channel, media))).toMatchObject({ code: 'rejected', retryable: false });
    });

    it('are read no further when the caller aborts or stops reading', async () => {
      const media = await arrived();
      const { channel } = harness();
      const stop = new AbortController();
      const bytes = (await channel.download?.(media, stop.signal)) ?? [];
      let length = 0;
      const reading = (async () => {
        for await (const chunk of bytes) {
          length += chunk.length;
          stop.abort();
        }
      })();
      await expect(reading).rejects.toBeInstanceOf(ChannelError);
      expect(length).toBeLessThan(CONTENT.length);
      for await (const chunk of (await channel.download?.(media, AbortSignal.timeout(5_000))) ?? []) {
        expect(chunk.length).toBeGreaterThan(0);
        break;
      }
      expect(await read(channel, media)).toBe(sha256);
    });
  });
}
