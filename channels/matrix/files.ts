/** Files of rooms: on upload, the bytes go to the media repository, then an event shows them; downloads are streamed. */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { OutboundFile } from '../../src/protocol/channel.ts';
import { brokenTransfer, lostFile, readUpload } from '../../src/protocol/channel-parts.ts';
import { ChannelError, channelUnavailable } from '../../src/protocol/errors.ts';
import type { Media, MediaKind } from '../../src/protocol/media.ts';
import type { SentMessage } from '../../src/protocol/message.ts';
import { AUTHENTICATED_MEDIA, type MatrixClient, MEDIA, pathOf } from './client.ts';
import { checkPlace, type Content, contentOf, MAX_LENGTH, relationOf } from './content.ts';
import type { Encryption } from './encryption/encryption.ts';
import { shownContent, type Sending } from './sending.ts';
import type { IncomingMessage } from 'node:http';
import { type EncryptedFile, readContentUri, readEncryptedFile } from './events.ts';
import { readFileReference } from './inbound.ts';

/** Largest file that is sent, in bytes: it is held in memory, and homeservers accept 50 MB and more by default. */
export const MAX_UPLOAD_BYTES = 25 * 1024 * 1024;
/** Longest silence of the homeserver while it receives a file, in milliseconds. */
const UPLOAD_MS = 60_000;
/** How much longer the whole upload may take: 25 MB at 50 KB/s. */
const WHOLE_UPLOAD_MS = 500_000;

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
  encryption: Encryption,
  file: OutboundFile,
): Promise<SentMessage> {
  checkPlace(file);
  const limits = { maxCaption: MAX_LENGTH, maxBytes: MAX_UPLOAD_BYTES };
  const bytes = await readUpload(file, 'Matrix', limits);
  const sealed = (await encryption.isEncrypted(file.chatId)) ? sealFile(bytes) : undefined;
  const answer = await client.call('POST', pathOf(MEDIA, 'upload'), {
    // The homeserver need not know more about an encrypted file than its size.
    ...(sealed === undefined && { query: { filename: file.name } }),
    body: sealed?.bytes ?? bytes,
    contentType: sealed === undefined ? file.mimeType : 'application/octet-stream',
    silenceMs: UPLOAD_MS,
    wholeMs: WHOLE_UPLOAD_MS,
    limit: 'upload',
  });
  const { data } = Uploaded.safeParse(answer);
  if (data === undefined)
    throw channelUnavailable('The Matrix homeserver did not say where it keeps the file.');
  const content = {
    ...contentOfFile(file, bytes.length),
    ...(sealed === undefined
      ? { url: data.content_uri }
      : { file: { ...sealed.file, url: data.content_uri } }),
    ...relationOf(file, file.replyTo, file.after?.id),
  };
  return await sending.send(file, content, file.nonce);
}

/** The caption is in `body` if `filename` is the name ("Media captions"). */
function contentOfFile({ kind, name, mimeType, caption }: OutboundFile, size: number): Content {
  const text = caption === undefined || caption.plain === '' ? undefined : contentOf(caption, []);
  return {
    ...text,
    body: text?.body ?? name,
    msgtype: MSGTYPES[kind],
    filename: name,
    info: { mimetype: mimeType, size },
    'm.mentions': {},
    ...(kind === 'voice' && { 'org.matrix.msc3245.voice': {} }),
  };
}

/** Throws `ChannelError`; so does the stream. The homeserver fetches files of other servers itself. */
export async function openFile(
  client: MatrixClient,
  sending: Sending,
  media: Media,
  silenceMs: number,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  const { uri: address, roomId = '', eventId } = readFileReference(media.url);
  const uri = readContentUri(address);
  if (uri === undefined) throw lostFile('The Matrix homeserver');
  const path = pathOf(AUTHENTICATED_MEDIA, 'download', uri.server, uri.mediaId);
  try {
    const file = eventId === undefined ? undefined : await fileIn(sending, roomId, eventId, address);
    if (eventId !== undefined && file === undefined) throw lostFile('The Matrix homeserver');
    const bytes = readBytes(await client.open(path, silenceMs, signal), signal);
    return file === undefined ? bytes : opened(bytes, file);
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

const IV_BYTES = 8;

/** The ciphertext of a file, and what its readers need ("Sending encrypted attachments"). */
function sealFile(bytes: Uint8Array): { bytes: Buffer; file: object } {
  const key = randomBytes(32);
  // The last 8 bytes count blocks.
  const iv = Buffer.concat([randomBytes(IV_BYTES)], 2 * IV_BYTES);
  const cipher = createCipheriv('aes-256-ctr', key, iv);
  const sealed = Buffer.concat([cipher.update(bytes), cipher.final()]);
  const k = {
    alg: 'A256CTR',
    ext: true,
    k: key.toString('base64url'),
    key_ops: ['encrypt', 'decrypt'],
    kty: 'oct',
  };
  return { bytes: sealed, file: { v: 'v2', key: k, iv: unpadded(iv), hashes: { sha256: hashOf(sealed) } } };
}

/** The bytes of an encrypted file. Throws at their end if the homeserver has changed them. */
async function* opened(
  bytes: AsyncIterable<Uint8Array>,
  { key, iv, hashes }: EncryptedFile,
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  const cipher = createDecipheriv('aes-256-ctr', Buffer.from(key.k, 'base64url'), Buffer.from(iv, 'base64'));
  for await (const chunk of bytes) {
    hash.update(chunk);
    yield cipher.update(chunk);
  }
  if (unpadded(hash.digest()) !== hashes.sha256.replaceAll('=', ''))
    throw new ChannelError(
      'rejected',
      'The encrypted file on the Matrix homeserver is not the one that was sent.',
    );
}

function hashOf(bytes: Uint8Array): string {
  return unpadded(createHash('sha256').update(bytes).digest());
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '');
}

/** The key is read from the event again, so that it is stored nowhere else. */
async function fileIn(
  sending: Sending,
  roomId: string,
  eventId: string,
  uri: string,
): Promise<EncryptedFile | undefined> {
  const event = await sending.event(roomId, eventId);
  if (event === undefined) return undefined;
  const contents = [event.content, event.content['m.new_content'], shownContent(event)];
  return contents.map(readEncryptedFile).find((file) => file?.url === uri);
}
