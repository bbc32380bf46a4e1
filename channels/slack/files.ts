/** Files on Slack's file servers: downloads are streamed with the bot's token, uploads posted ("Uploading files"). */
import type { IncomingMessage, RequestOptions } from 'node:http';
import { z } from 'zod';
import type { OutboundFile } from '../../src/protocol/channel.ts';
import { brokenTransfer, lostFile, readUpload } from '../../src/protocol/channel-parts.ts';
import { ChannelError, channelUnavailable } from '../../src/protocol/errors.ts';
import type { Log } from '../../src/protocol/log.ts';
import type { Media } from '../../src/protocol/media.ts';
import type { SentMessage } from '../../src/protocol/message.ts';
import { openResponse, readChunks } from '../../src/lib/async/http-stream.ts';
import { codeOf, isAnswerLost, rateLimited } from './errors.ts';
import { readReference } from './inbound.ts';
import { drawTables } from './render.ts';
import { blocksOf, MAX_LENGTH, partsOf, targetOf } from './sending.ts';
import type { SlackApi } from './web-api.ts';

/** Largest file that is sent, in bytes: Slack accepts 1 GB, but a file is held in memory while it is sent. */
export const MAX_UPLOAD_BYTES = 25 * 1024 * 1024;

const Ticket = z.object({ upload_url: z.string(), file_id: z.string() });

/** `files.info`: where the file is, and in which chats it is shown. */
const Info = z.object({
  file: z.object({
    url_private_download: z.string().optional(),
    url_private: z.string().optional(),
    channels: z.array(z.string()).default([]),
    groups: z.array(z.string()).default([]),
    ims: z.array(z.string()).default([]),
  }),
});

export class Files {
  readonly #api: SlackApi;
  readonly #headers: { authorization: string };
  readonly #apiRoot: string | undefined;
  readonly #log: Log;
  readonly #silenceMs: number;

  /** `token` is secret. */
  constructor(api: SlackApi, token: string, apiRoot: string | undefined, log: Log, silenceMs: number) {
    this.#api = api;
    this.#headers = { authorization: `Bearer ${token}` };
    this.#apiRoot = apiRoot;
    this.#log = log;
    this.#silenceMs = silenceMs;
  }

  /** The bytes of a file that came with a message. Throws `ChannelError`; so does the stream. */
  async open(media: Media, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    const reference = readReference(media.url);
    if (reference === undefined) throw lostFile('Slack');
    const url = reference.url ?? (await this.#urlOf(reference.fileId));
    // The address comes from Slack, but no other server may get the token.
    if (!this.#isFileServer(url)) throw lostFile('Slack');
    return readChunks(await this.#request(url, { headers: this.#headers, signal }), cutOff);
  }

  /** Shows a file. Its message is identified by the file's id: Slack creates the message later. Throws `ChannelError`. */
  async send(file: OutboundFile): Promise<SentMessage> {
    const { channel, thread_ts } = targetOf(file);
    const limits = { maxCaption: MAX_LENGTH, maxBytes: MAX_UPLOAD_BYTES };
    const bytes = await readUpload(file, 'Slack', limits);
    const answer = await this.#api.call('files.getUploadURLExternal', {
      filename: file.name,
      length: bytes.length,
    });
    const { data: ticket } = Ticket.safeParse(answer);
    const url = URL.parse(ticket?.upload_url ?? '');
    if (ticket === undefined || url === null || !this.#isFileServer(url))
      throw new ChannelError('rejected', 'Slack named no address of its own for the file.');
    const headers = { 'content-type': 'application/octet-stream', 'content-length': bytes.length };
    (await this.#request(url, { method: 'POST', headers }, bytes)).resume();
    const blocks = file.caption === undefined ? [] : blocksOf(drawTables(partsOf(file.caption)));
    const id = ticket.file_id;
    await this.#show(id, file.chatId, {
      files: [{ id, title: file.name }],
      channel_id: channel,
      thread_ts,
      blocks: blocks.length > 0 ? blocks : undefined,
    });
    return { id, metadata: { file: id } };
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

  async #urlOf(file: string): Promise<URL> {
    const answer = await this.#api.call('files.info', { file }).catch((error: unknown) => {
      throw error instanceof ChannelError && !error.retryable ? lostFile('Slack', error) : error;
    });
    const { file: info } = Info.safeParse(answer).data ?? {};
    const url = URL.parse(info?.url_private_download ?? info?.url_private ?? '');
    if (url === null) throw lostFile('Slack');
    return url;
  }

  /** The last step; if its answer is lost, the file itself says where it is shown. */
  async #show(fileId: string, chatId: string, fields: Record<string, unknown>): Promise<void> {
    try {
      await this.#api.call('files.completeUploadExternal', fields);
    } catch (error) {
      if (!isAnswerLost(error)) throw error;
      if (await this.#isShown(chatId, fileId)) return;
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

  /** True for an address of Slack's file servers, or of the configured server: no other may get the token or the bytes. */
  #isFileServer(url: URL): boolean {
    if (this.#apiRoot !== undefined) return url.origin === URL.parse(this.#apiRoot)?.origin;
    return url.protocol === 'https:' && url.host === 'files.slack.com';
  }

  /** Returns the answer with status 200. Throws `ChannelError`. */
  async #request(url: URL, options: RequestOptions, body?: Uint8Array): Promise<IncomingMessage> {
    const response = await openResponse(url, { ...options, timeout: this.#silenceMs }, body, cutOff);
    const status = response.statusCode ?? 0;
    if (status === 200) return response;
    response.destroy();
    if (status === 429) throw rateLimited(Math.max(1, Number(response.headers['retry-after']) || 1) * 1_000);
    if (status >= 500)
      throw channelUnavailable(`Slack answered the request for a file with status ${status}.`);
    // Without the scope files:read, Slack redirects to its sign-in page.
    if (status >= 300 && status < 400)
      throw new ChannelError(
        'rejected',
        'Slack shows this file only to people: give the bot the scope files:read.',
      );
    throw lostFile('Slack');
  }
}

function cutOff(error: unknown): ChannelError {
  return brokenTransfer('Slack', error);
}
