/** Downloads files that people send: `getFile` returns the path, then the file is read as a stream. */
import { lostFile } from '../../src/protocol/channel-parts.ts';
import { ChannelError, channelUnavailable, errorCode, GatewayError } from '../../src/protocol/errors.ts';
import type { Media } from '../../src/protocol/media.ts';
import { openResponse, readChunks } from '../../src/lib/async/http-stream.ts';
import type { BotApi } from './bot-api.ts';

/** A path as the Bot API returns it: `documents/file_7.pdf`. */
const FILE_PATH = /^[\w.-]{1,200}(?:\/[\w.-]{1,200}){0,10}$/;

/** Opens a message's file; its address has the token and stays here. Throws `ChannelError`, `GatewayError('too_large')`. */
export async function openFile(
  bot: BotApi,
  media: Media,
  silenceMs: number,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  const path = await bot.filePath(media.url, signal);
  if (path === undefined)
    throw new GatewayError('too_large', 'Telegram gives bots only files of up to 20 MB.');
  if (!FILE_PATH.test(path) || path.split('/').includes('..')) throw notServed();
  const url = URL.parse(`${bot.fileRoot}/${path}`);
  if (url === null) throw notServed();
  const response = await openResponse(url, { signal, timeout: silenceMs }, undefined, cutOff);
  const status = response.statusCode ?? 0;
  if (status === 200) return readChunks(response, cutOff);
  response.destroy();
  throw refusalOf(status, response.headers['retry-after']);
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
  if (status >= 500)
    return channelUnavailable(`Telegram answered the request for the file with status ${status}.`);
  return lostFile('Telegram');
}

/** Includes only the code of the cause: its request contains the token. */
function cutOff(error: unknown): ChannelError {
  const code = errorCode(error);
  return channelUnavailable(`The file from Telegram did not come through${code && ` (${code})`}.`);
}
