/** Downloads files that people send: streams them from Slack's file servers, with the bot's token. */
import { z } from 'zod';
import type { IncomingMessage } from 'node:http';
import { ChannelError } from '../../../src/protocol/errors.ts';
import type { Media } from '../../../src/protocol/media.ts';
import type { SlackApi } from '../web-api.ts';
import { readReference } from './media.ts';
import { cutOff, gone, isFileServer, requestFile } from './requests.ts';

const Info = z.object({
  file: z.object({ url_private_download: z.string().optional(), url_private: z.string().optional() }),
});

export interface FileDownloadParts {
  api: Pick<SlackApi, 'call'>;
  /** Secret. */
  token: string;
  apiRoot: string | undefined;
  silenceMs: number;
}

export class FileDownload {
  readonly #api: Pick<SlackApi, 'call'>;
  readonly #headers: { authorization: string };
  readonly #apiRoot: string | undefined;
  readonly #silenceMs: number;

  constructor({ api, token, apiRoot, silenceMs }: FileDownloadParts) {
    this.#api = api;
    this.#headers = { authorization: `Bearer ${token}` };
    this.#apiRoot = apiRoot;
    this.#silenceMs = silenceMs;
  }

  /** Throws `ChannelError`; so does the stream. */
  async open(media: Media, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    const reference = readReference(media.url);
    if (reference === undefined) throw gone();
    const url = reference.url ?? (await this.#urlOf(reference.fileId));
    // The address comes from Slack, but no other server may get the token.
    if (!isFileServer(url, this.#apiRoot)) throw gone();
    const call = { url, method: 'GET' as const, headers: this.#headers, signal, silenceMs: this.#silenceMs };
    return readBytes(await requestFile(call));
  }

  async #urlOf(file: string): Promise<URL> {
    const answer = await this.#api.call('files.info', { file }).catch((error: unknown) => {
      throw error instanceof ChannelError && !error.retryable ? gone(error) : error;
    });
    const { file: info } = Info.safeParse(answer).data ?? {};
    const url = URL.parse(info?.url_private_download ?? info?.url_private ?? '');
    if (url === null) throw gone();
    return url;
  }
}

async function* readBytes(response: IncomingMessage): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of response) yield chunk as Uint8Array;
  } catch (error) {
    throw cutOff(error);
  }
}
