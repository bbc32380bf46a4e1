/** Downloads files that people send, as streams, with a fresh link if the old one has expired. */
import { DefaultRestOptions, Routes } from 'discord.js';
import { z } from 'zod';
import { lostFile } from '../../src/protocol/channel-parts.ts';
import { ChannelError, channelUnavailable } from '../../src/protocol/errors.ts';
import type { Media } from '../../src/protocol/media.ts';
import { Attachment, type MessagePlace, readReference } from './receiving/message-parts.ts';
import { rateLimited } from './errors.ts';
import type { DiscordRest } from './rest.ts';

const FILE_HOSTS = ['cdn.discordapp.com', 'media.discordapp.net'];

type Answer = Awaited<ReturnType<typeof DefaultRestOptions.makeRequest>>;

/** The current files of a message, including forwarded ones. */
const WithFiles = z.object({
  attachments: z.array(Attachment).default([]),
  message_snapshots: z
    .array(z.object({ message: z.object({ attachments: z.array(Attachment).default([]) }) }))
    .nullish(),
});

/** Opens the files of messages. */
export class FileDownload {
  readonly #rest: DiscordRest;
  readonly #apiRoot: string | undefined;
  readonly #silenceMs: number;

  /** `apiRoot`: of a server other than Discord's own, which also keeps the files. `silenceMs`: longest wait for data. */
  constructor(rest: DiscordRest, apiRoot: string | undefined, silenceMs: number) {
    this.#rest = rest;
    this.#apiRoot = apiRoot;
    this.#silenceMs = silenceMs;
  }

  /** Throws `ChannelError`; so does the stream. */
  async open(media: Media, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    const reference = readReference(media.url);
    if (reference === undefined) throw lostFile('Discord');
    const silence = new Silence(this.#silenceMs, signal);
    try {
      const first = await this.#get(reference.url, silence);
      if (first.status === 200) return readBytes(first, silence);
      await discard(first);
      if (reference.of === undefined) throw lostFile('Discord');
      const link = await this.#freshLink(reference.url, reference.of, signal);
      const second = await this.#get(link, silence);
      if (second.status === 200) return readBytes(second, silence);
      await discard(second);
      throw lostFile('Discord');
    } catch (error) {
      silence.end();
      throw error;
    }
  }

  /** The answer with status 200, or one that says that the link has expired. */
  async #get(url: URL, silence: Silence): Promise<Answer> {
    if (!this.#isFileServer(url)) throw lostFile('Discord');
    let answer: Answer;
    try {
      const { signal } = silence;
      answer = await DefaultRestOptions.makeRequest(url.href, { method: 'GET', redirect: 'manual', signal });
    } catch (error) {
      throw cutOff(error);
    }
    silence.heard();
    if (answer.status === 200 || isExpired(answer)) return answer;
    await discard(answer);
    if (answer.status === 429) {
      const retryAfterMs = Math.max(1, Number(answer.headers.get('retry-after')) || 1) * 1_000;
      throw rateLimited(retryAfterMs);
    }
    if (answer.status < 500) throw lostFile('Discord');
    throw channelUnavailable(`Discord answered the request for the file with status ${answer.status}.`);
  }

  /** Links come from Discord, but requests may go only to its own servers. */
  #isFileServer({ protocol, host, origin }: URL): boolean {
    if (this.#apiRoot !== undefined) return origin === URL.parse(this.#apiRoot)?.origin;
    return protocol === 'https:' && FILE_HOSTS.includes(host);
  }

  async #freshLink(old: URL, { channelId, messageId }: MessagePlace, signal: AbortSignal): Promise<URL> {
    const answer = await this.#rest
      .get(Routes.channelMessage(channelId, messageId), `message ${channelId}`, signal)
      .catch((error: unknown) => {
        if (error instanceof ChannelError && !error.retryable) throw lostFile('Discord', error);
        throw error;
      });
    const { attachments = [], message_snapshots: snapshots } = WithFiles.safeParse(answer).data ?? {};
    const files = [...attachments, ...(snapshots ?? []).flatMap(({ message }) => message.attachments)];
    const link = files.map(({ url }) => URL.parse(url)).find((url) => url?.pathname === old.pathname);
    if (!link) throw lostFile('Discord');
    return link;
  }
}

/** Discord answers 404 for an expired link, as for a deleted file. */
function isExpired({ status }: Answer): boolean {
  return status === 403 || status === 404;
}

/** Discards an answer, so that its connection is free. */
async function discard({ body }: Answer): Promise<void> {
  for await (const _ of body ?? []) break;
}

async function* readBytes(answer: Answer, silence: Silence): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of answer.body ?? []) {
      silence.heard();
      yield chunk as Uint8Array;
    }
  } catch (error) {
    throw cutOff(error);
  } finally {
    silence.end();
  }
}

/** Ends a download when its caller does, or when no data has arrived for a while. */
class Silence {
  readonly signal: AbortSignal;
  readonly #late = new AbortController();
  readonly #timer: NodeJS.Timeout;

  constructor(ms: number, caller: AbortSignal) {
    this.signal = AbortSignal.any([caller, this.#late.signal]);
    this.#timer = setTimeout(() => this.#late.abort(new Error('nothing came')), ms);
    this.#timer.unref();
  }

  heard(): void {
    this.#timer.refresh();
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}

function cutOff(cause: unknown): ChannelError {
  return channelUnavailable('The download of the file from Discord broke off.', cause);
}
