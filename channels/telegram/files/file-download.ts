/** Downloads files that people send: `getFile` returns the path, then the file is read as a stream. */
import { type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Media } from '../../../src/protocol/media.ts';
import { ChannelError, GatewayError } from '../../../src/protocol/errors.ts';
import type { BotApi } from '../api/bot-api.ts';

/** A path as the Bot API returns it: `documents/file_7.pdf`. */
const FILE_PATH = /^[\w.-]{1,200}(?:\/[\w.-]{1,200}){0,10}$/;

/** Opens the files of messages; the address of a file contains the token, and does not leave this class. */
export class FileDownload {
  readonly #bot: Pick<BotApi, 'filePath'>;
  readonly #root: string;
  readonly #silenceMs: number;

  /** `root` is the root address of this bot's files; it contains the token: secret. */
  constructor(bot: Pick<BotApi, 'filePath'>, root: string, silenceMs: number) {
    this.#bot = bot;
    this.#root = root;
    this.#silenceMs = silenceMs;
  }

  /**
   * Throws `ChannelError`, and `GatewayError('too_large')` for files that Telegram gives to no bot; so does the
   * stream.
   */
  async open(media: Media, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    const path = await this.#bot.filePath(media.url, signal);
    if (path === undefined) throw tooLarge();
    if (!FILE_PATH.test(path) || path.split('/').includes('..')) throw notServed();
    const response = await this.#get(path, signal);
    const status = response.statusCode ?? 0;
    if (status === 200) return readBytes(response);
    response.destroy();
    throw refusalOf(status, response.headers['retry-after']);
  }

  /** Rejects with `ChannelError`; closes the connection when the signal aborts or no data arrives. */
  async #get(path: string, signal: AbortSignal): Promise<IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    let call: ClientRequest;
    try {
      const open = this.#root.startsWith('http:') ? httpRequest : httpsRequest;
      call = open(`${this.#root}/${path}`, { signal, timeout: this.#silenceMs });
    } catch {
      throw notServed();
    }
    call.on('timeout', () => call.destroy(new Error('nothing came')));
    call.on('response', resolve);
    call.on('error', (error) => reject(cutOff(error)));
    call.end();
    return await promise;
  }
}

async function* readBytes(response: IncomingMessage): AsyncGenerator<Uint8Array> {
  try {
    // `yield*` would let the connection's own errors through.
    for await (const chunk of response) yield chunk as Uint8Array;
  } catch (error) {
    throw cutOff(error);
  }
}

function tooLarge(): GatewayError {
  return new GatewayError('too_large', 'Telegram gives bots only files of up to 20 MB.');
}

/** A server running with `--local` returns a path on its own disk. */
function notServed(): ChannelError {
  return new ChannelError(
    'rejected',
    'The Bot API server named no file that can be read over HTTP: start the one at TELEGRAM_API_ROOT without --local.',
  );
}

function refusalOf(status: number, retryAfter: string | undefined): ChannelError {
  if (status === 429) {
    const retryAfterMs = Math.max(1, Number(retryAfter) || 1) * 1_000;
    const text = 'Telegram asks to wait before the file is read.';
    return new ChannelError('rate_limited', text, { retryable: true, retryAfterMs });
  }
  if (status >= 500) {
    const text = `Telegram answered the request for the file with status ${status}.`;
    return new ChannelError('unavailable', text, { retryable: true });
  }
  return new ChannelError('rejected', 'Telegram no longer has this file. Please send it again.');
}

/** Includes only the name of the cause: its request contains the token. */
function cutOff(error: unknown): ChannelError {
  const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
  return new ChannelError('unavailable', `The file from Telegram did not come through${code}.`, {
    retryable: true,
  });
}
