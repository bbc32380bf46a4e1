/**
 * Uploads to Slack: requests an upload address, sends the bytes, and posts the message that shows them ("Uploading
 * files").
 */
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import type { Log } from '../../../src/protocol/log.ts';
import type { OutboundFile } from '../../../src/protocol/channel.ts';
import { ChannelError } from '../../../src/protocol/errors.ts';
import type { Place, SentMessage } from '../../../src/protocol/message.ts';
import { inMegabytes } from '../../../src/lib/text.ts';
import { codeOf, isAnswerLost } from '../errors.ts';
import { MAX_LENGTH, partsOf, richText, targetOf } from '../message-fields.ts';
import type { SlackApi } from '../web-api.ts';
import { isFileServer, requestFile } from './requests.ts';

/** Largest file that is sent, in bytes: Slack accepts 1 GB, but a file is held in memory while it is sent. */
export const MAX_UPLOAD_BYTES = 25 * 1024 * 1024;

const Ticket = z.object({ upload_url: z.string(), file_id: z.string() });
const Info = z.object({
  file: z.object({
    channels: z.array(z.string()).default([]),
    groups: z.array(z.string()).default([]),
    ims: z.array(z.string()).default([]),
  }),
});

export interface FileUploadParts {
  api: Pick<SlackApi, 'call'>;
  apiRoot: string | undefined;
  log: Log;
  silenceMs: number;
}

export class FileUpload {
  readonly #api: Pick<SlackApi, 'call'>;
  readonly #apiRoot: string | undefined;
  readonly #log: Log;
  readonly #silenceMs: number;

  constructor({ api, apiRoot, log, silenceMs }: FileUploadParts) {
    this.#api = api;
    this.#log = log;
    this.#apiRoot = apiRoot;
    this.#silenceMs = silenceMs;
  }

  /**
   * Shows a file. Its message is identified by the file's id: Slack creates the message later. Throws `ChannelError`.
   */
  async send(file: OutboundFile): Promise<SentMessage> {
    const { channel, thread_ts } = targetOf(file);
    const bytes = await bytesOf(file);
    const answer = await this.#api.call('files.getUploadURLExternal', {
      filename: file.name,
      length: bytes.length,
    });
    const { data: ticket } = Ticket.safeParse(answer);
    const url = URL.parse(ticket?.upload_url ?? '');
    if (ticket === undefined || url === null || !isFileServer(url, this.#apiRoot))
      throw new ChannelError('rejected', 'Slack named no address of its own for the file.');
    const headers = { 'content-type': 'application/octet-stream' };
    (await requestFile({ url, method: 'POST', headers, body: bytes, silenceMs: this.#silenceMs })).resume();
    const blocks = file.caption === undefined ? [] : richText(partsOf(file.caption));
    await this.#show(file, ticket.file_id, {
      files: [{ id: ticket.file_id, title: file.name }],
      channel_id: channel,
      ...(thread_ts !== undefined && { thread_ts }),
      ...(blocks.length > 0 && { blocks }),
    });
    return { id: ticket.file_id, metadata: { file: ticket.file_id } };
  }

  /** Deletes a file (`files.delete`); a file that is already gone is not an error. */
  async delete(file: string): Promise<void> {
    try {
      await this.#api.call('files.delete', { file });
    } catch (error) {
      const code = codeOf(error);
      if (code !== 'file_not_found' && code !== 'file_deleted') throw error;
    }
  }

  /** The last step; if its answer is lost, the file itself says where it is shown. */
  async #show(place: Place, fileId: string, fields: Record<string, unknown>): Promise<void> {
    try {
      await this.#api.call('files.completeUploadExternal', fields);
    } catch (error) {
      if (!isAnswerLost(error)) throw error;
      if (await this.#isShown(place.chatId, fileId)) return;
      const message = 'Slack was given a file, and its answer was lost: it may be on screen.';
      throw new ChannelError('outcome_unknown', message, { retryable: true, cause: error });
    }
  }

  async #isShown(chatId: string, file: string): Promise<boolean> {
    // Without an answer it counts as not shown: the outcome of the send then stays unknown.
    const answer = await this.#api.call('files.info', { file }).catch((error: unknown) => {
      this.#log.warn({ err: error, chatId }, 'slack_file_not_looked_up');
    });
    const { data } = Info.safeParse(answer);
    if (data === undefined) return false;
    return [...data.file.channels, ...data.file.groups, ...data.file.ims].includes(chatId);
  }
}

async function bytesOf({ path, name, caption }: OutboundFile): Promise<Buffer> {
  if ((caption?.length ?? 0) > MAX_LENGTH)
    throw new ChannelError('rejected', `A caption on Slack has at most ${MAX_LENGTH} characters.`);
  const bytes = await readFile(path).catch((cause: unknown) => {
    throw new ChannelError('rejected', `The file ${name} cannot be read.`, { cause });
  });
  if (bytes.length <= MAX_UPLOAD_BYTES) return bytes;
  throw new ChannelError('rejected', `The file ${name} is larger than ${inMegabytes(MAX_UPLOAD_BYTES)}.`);
}
