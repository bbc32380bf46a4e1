/** Files for rooms: the bytes go to the media repository, then an event shows them. */
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import type { OutboundFile } from '../../../src/protocol/channel.ts';
import { ChannelError, channelUnavailable } from '../../../src/protocol/errors.ts';
import type { MediaKind } from '../../../src/protocol/media.ts';
import type { SentMessage } from '../../../src/protocol/message.ts';
import { inMegabytes } from '../../../src/lib/text.ts';
import { type MatrixClient, MEDIA, pathOf } from '../client.ts';
import { type Content, contentOf, MAX_LENGTH, relationOf } from '../content.ts';
import type { Sending } from '../sending.ts';

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

export interface UploadParts {
  client: Pick<MatrixClient, 'call'>;
  sending: Pick<Sending, 'send'>;
}

/** Shows a file: a repeat uploads it again, but shows it once. Throws `ChannelError`. */
export async function sendFile({ client, sending }: UploadParts, file: OutboundFile): Promise<SentMessage> {
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
  const text =
    caption === undefined || caption.plain === '' ? undefined : contentOf({ body: caption, buttons: [] });
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
    throw new ChannelError('rejected', `A caption on Matrix has at most ${MAX_LENGTH} characters.`);
  const bytes = await readFile(path).catch((cause: unknown) => {
    throw new ChannelError('rejected', `The file ${name} cannot be read.`, { cause });
  });
  if (bytes.length <= MAX_UPLOAD_BYTES) return bytes;
  throw new ChannelError('rejected', `The file ${name} is larger than ${inMegabytes(MAX_UPLOAD_BYTES)}.`);
}
