/** Downloads files that people send: streams them from the homeserver, with the bot's token ("Content repository"). */
import type { IncomingMessage } from 'node:http';
import { ChannelError, channelUnavailable } from '../../../src/protocol/errors.ts';
import type { Media } from '../../../src/protocol/media.ts';
import { AUTHENTICATED_MEDIA, type MatrixClient, pathOf } from '../client.ts';
import { readContentUri } from '../ids.ts';

/** Throws `ChannelError`; so does the stream. The homeserver fetches files of other servers itself. */
export async function openFile(
  { client, silenceMs }: { client: Pick<MatrixClient, 'open'>; silenceMs: number },
  media: Media,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  const uri = readContentUri(media.url);
  if (uri === undefined) throw gone();
  const path = pathOf(AUTHENTICATED_MEDIA, 'download', uri.server, uri.mediaId);
  try {
    return readBytes(await client.open(path, { silenceMs, signal }), signal);
  } catch (error) {
    if (error instanceof ChannelError && !error.retryable) throw gone(error);
    throw error instanceof ChannelError ? error : cutOff(error);
  }
}

async function* readBytes(response: IncomingMessage, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of response) {
      signal.throwIfAborted();
      yield chunk as Uint8Array;
    }
  } catch (error) {
    throw cutOff(error);
  }
}

function gone(cause?: unknown): ChannelError {
  return new ChannelError(
    'rejected',
    'The Matrix homeserver no longer has this file. Please send it again.',
    { cause },
  );
}

/** Includes only the name of the cause: its request contains the token. */
function cutOff(error: unknown): ChannelError {
  const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
  return channelUnavailable(`The file did not come through between the Matrix homeserver and here${code}.`);
}
