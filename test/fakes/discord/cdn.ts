/** The file servers of the fake Discord: links carry a signature that expires, as those of the platform do. */
import type { IncomingMessage, ServerResponse } from 'node:http';

/** A file that someone sends. */
export interface SentFile {
  name: string;
  bytes: Uint8Array;
  mimeType?: string;
  /** For a recording. */
  seconds?: number;
}

/** How the next download fails: cut off in the middle, silent in the middle, or a status. */
export type DownloadFailure = 'cut' | 'silence' | number;

/** As Discord shows it; for a recording also with its length. */
export interface FakeAttachment {
  id: string;
  filename: string;
  size: number;
  url: string;
  proxy_url: string;
}

interface StoredFile extends SentFile {
  path: string;
}

export class FakeCdn {
  /** Downloads that were started. */
  downloads = 0;
  readonly #root: () => string;
  readonly #newId: () => string;
  readonly #files = new Map<string, StoredFile>();
  readonly #failures: DownloadFailure[] = [];
  #signature = 1;

  constructor(root: () => string, newId: () => string) {
    this.#root = root;
    this.#newId = newId;
  }

  /** An attachment of a message, or of a command; its link is fresh whenever it is shown. */
  attachment(channelId: string, file: SentFile, folder = 'attachments'): FakeAttachment {
    const id = this.#newId();
    const path = `/${folder}/${channelId}/${id}/${encodeURIComponent(file.name)}`;
    this.#files.set(path, { ...file, path });
    const link = (): string => this.#root() + path + this.#query();
    return {
      id,
      filename: file.name,
      size: file.bytes.length,
      ...(file.mimeType !== undefined && { content_type: file.mimeType }),
      ...(file.seconds !== undefined && { duration_secs: file.seconds, waveform: 'AAAA' }),
      get url() {
        return link();
      },
      get proxy_url() {
        return link();
      },
    };
  }

  /** All links that were shown so far stop working. */
  expire(): void {
    this.#signature += 1;
  }

  /** The next download fails like this. */
  failure(failure: DownloadFailure): void {
    this.#failures.push(failure);
  }

  /** True when the request was for a file. */
  serves(request: IncomingMessage, response: ServerResponse): boolean {
    const [path = '', query = ''] = (request.url ?? '').split('?');
    if (!/^\/(ephemeral-)?attachments\//.test(path)) return false;
    this.downloads += 1;
    const file = this.#files.get(path);
    const failure = this.#failures.shift();
    if (file === undefined || typeof failure === 'number' || `?${query}` !== this.#query()) {
      response.writeHead(typeof failure === 'number' ? failure : 404, { 'retry-after': '1' });
      response.end('This content is no longer available.');
      return true;
    }
    response.writeHead(200, {
      'content-type': file.mimeType ?? 'application/octet-stream',
      'content-length': file.bytes.length,
    });
    if (failure === undefined) response.end(file.bytes);
    else
      response.write(file.bytes.subarray(0, Math.ceil(file.bytes.length / 2)), () => {
        if (failure === 'cut') response.destroy();
      });
    return true;
  }

  #query(): string {
    return `?ex=6a000000&is=69000000&hm=${this.#signature}`;
  }
}
