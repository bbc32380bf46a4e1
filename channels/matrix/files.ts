/** Files of rooms: on upload, the bytes go to the media repository, then an event shows them; downloads are streamed. */
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import type { OutboundFile } from '../../src/protocol/channel.ts';
import { ChannelError, channelUnavailable, errorCode } from '../../src/protocol/errors.ts';
import type { Media, MediaKind } from '../../src/protocol/media.ts';
import type { SentMessage } from '../../src/protocol/message.ts';
import { inMegabytes } from '../../src/lib/text.ts';
import { AUTHENTICATED_MEDIA, type MatrixClient, MEDIA, pathOf } from './client.ts';
import { checkPlace, type Content, contentOf, MAX_LENGTH, relationOf } from './content.ts';
import type { Sending } from './sending.ts';
import type { IncomingMessage } from 'node:http';
import { readContentUri } from './events.ts';

/**
 * Largest file that is sent, in bytes: homeservers accept 50 MB and more by default, but a file is held in memory
 * while it is sent.
 */
export const MAX_UPLOAD_BYTES = 25 * 1024 * 1024;
/** Longest silence of the homeserver while it receives a file, in milliseconds. */
const UPLOAD_MS = 60_000;

const MSGTYPES: Readonly<Record<MediaKind, string>> = {
  image: 'm.image',
  audio: 'm.audio',
  voice: 'm.audio',
  video: 'm.video',
  file: 'm.file',
};

const Uploaded = z.object({ content_uri: z.string().startsWith('mxc://') });

/** Shows a file: a repeat uploads it again, but shows it once. Throws `ChannelError`. */
export async function sendFile(
  client: MatrixClient,
  sending: Sending,
  file: OutboundFile,
): Promise<SentMessage> {
  checkPlace(file);
  const bytes = await bytesOf(file);
  const answer = await client.call('POST', pathOf(MEDIA, 'upload'), {
    query: { filename: file.name },
    body: bytes,
    contentType: file.mimeType,
    silenceMs: UPLOAD_MS,
    limit: 'upload',
  });
  const { data } = Uploaded.safeParse(answer);
  if (data === undefined)
    throw channelUnavailable('The Matrix homeserver did not say where it keeps the file.');
  const content = {
    ...contentOfFile(file, bytes.length, data.content_uri),
    ...relationOf(file, file.replyTo, file.after?.id),
  };
  return await sending.send(file, content, file.nonce);
}

/** The caption is in `body` if `filename` is the name ("Media captions"). */
function contentOfFile({ kind, name, mimeType, caption }: OutboundFile, size: number, url: string): Content {
  const text = caption === undefined || caption.plain === '' ? undefined : contentOf(caption, []);
  return {
    ...text,
    body: text?.body ?? name,
    msgtype: MSGTYPES[kind],
    filename: name,
    url,
    info: { mimetype: mimeType, size },
    'm.mentions': {},
    ...(kind === 'voice' && { 'org.matrix.msc3245.voice': {} }),
  };
}

async function bytesOf({ path, name, caption }: OutboundFile): Promise<Buffer> {
  if ((caption?.length ?? 0) > MAX_LENGTH)
    throw new ChannelError('rejected', `A caption on Matrix may have at most ${MAX_LENGTH} characters.`);
  const bytes = await readFile(path).catch((cause: unknown) => {
    throw new ChannelError('rejected', `The file ${name} cannot be read.`, { cause });
  });
  if (bytes.length <= MAX_UPLOAD_BYTES) return bytes;
  throw new ChannelError('rejected', `The file ${name} is larger than ${inMegabytes(MAX_UPLOAD_BYTES)}.`);
}

/** Throws `ChannelError`; so does the stream. The homeserver fetches files of other servers itself. */
export async function openFile(
  client: MatrixClient,
  media: Media,
  silenceMs: number,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  const uri = readContentUri(media.url);
  if (uri === undefined) throw lostFile();
  const path = pathOf(AUTHENTICATED_MEDIA, 'download', uri.server, uri.mediaId);
  try {
    return readBytes(await client.open(path, silenceMs, signal), signal);
  } catch (error) {
    if (error instanceof ChannelError && !error.retryable) throw lostFile(error);
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

function lostFile(cause?: unknown): ChannelError {
  return new ChannelError(
    'rejected',
    'The Matrix homeserver no longer has this file. Please send it again.',
    { cause },
  );
}

/** Includes only the code of the cause: its request contains the token. */
function cutOff(error: unknown): ChannelError {
  const code = errorCode(error);
  const suffix = code && ` (${code})`;
  return channelUnavailable(`The file did not come through between the Matrix homeserver and here${suffix}.`);
}
