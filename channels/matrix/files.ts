/** Files of rooms: on upload, the bytes go to the media repository, then an event shows them; downloads are streamed. */
import { z } from 'zod';
import type { OutboundFile } from '../../src/protocol/channel.ts';
import { brokenTransfer, lostFile, readUpload } from '../../src/protocol/channel-parts.ts';
import { ChannelError, channelUnavailable } from '../../src/protocol/errors.ts';
import type { Media, MediaKind } from '../../src/protocol/media.ts';
import type { SentMessage } from '../../src/protocol/message.ts';
import { AUTHENTICATED_MEDIA, type MatrixClient, MEDIA, pathOf } from './client.ts';
import { checkPlace, type Content, contentOf, MAX_LENGTH, relationOf } from './content.ts';
import type { Sending } from './sending.ts';
import type { IncomingMessage } from 'node:http';
import { readContentUri } from './events.ts';

/** Largest file that is sent, in bytes: it is held in memory, and homeservers accept 50 MB and more by default. */
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
  const limits = { maxCaption: MAX_LENGTH, maxBytes: MAX_UPLOAD_BYTES };
  const bytes = await readUpload(file, 'Matrix', limits);
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

/** Throws `ChannelError`; so does the stream. The homeserver fetches files of other servers itself. */
export async function openFile(
  client: MatrixClient,
  media: Media,
  silenceMs: number,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  const uri = readContentUri(media.url);
  if (uri === undefined) throw lostFile('The Matrix homeserver');
  const path = pathOf(AUTHENTICATED_MEDIA, 'download', uri.server, uri.mediaId);
  try {
    return readBytes(await client.open(path, silenceMs, signal), signal);
  } catch (error) {
    if (!(error instanceof ChannelError)) throw brokenTransfer('the Matrix homeserver', error);
    throw error.retryable ? error : lostFile('The Matrix homeserver', error);
  }
}

async function* readBytes(response: IncomingMessage, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of response) {
      signal.throwIfAborted();
      yield chunk as Uint8Array;
    }
  } catch (error) {
    throw brokenTransfer('the Matrix homeserver', error);
  }
}
