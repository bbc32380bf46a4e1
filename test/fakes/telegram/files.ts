/** Files on the fake Bot API: the fields of messages that bring them, `getFile`, and their bytes below the token's path. */
import { createHash, randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { badRequest, type Params, textOf } from './refusal.ts';

/** Largest file that bots may download (Bot API `getFile`). */
const MAX_DOWNLOAD = 20 * 1024 * 1024;

/** A file that someone sends. */
export interface FakeFile {
  bytes: Uint8Array;
  /** As the sender's app states it, for a file that is too large to be created. */
  size?: number;
  name?: string;
  mimeType?: string;
  seconds?: number;
}

interface StoredFile extends FakeFile {
  id: string;
  path: string;
}

/** How the next download fails: cut off in the middle, silent in the middle, or a status. */
export type DownloadFailure = 'cut' | 'silence' | number;

/** All files of one bot. */
export class FakeFiles {
  readonly #files = new Map<string, StoredFile>();
  readonly #failures: (DownloadFailure | undefined)[] = [];
  /** Downloads that were started. */
  downloads = 0;

  /** A photo in two sizes, as the field of a message. */
  photo(bytes: Uint8Array): Params {
    const small = { ...this.#json({ bytes: bytes.subarray(0, 1) }, 'photos'), width: 90, height: 90 };
    return { photo: [small, { ...this.#json({ bytes }, 'photos'), width: 1_280, height: 1_280 }] };
  }

  document(file: FakeFile): Params {
    return { document: this.#json(file, 'documents') };
  }

  audio(file: FakeFile): Params {
    return { audio: { duration: file.seconds ?? 1, ...this.#json(file, 'music') } };
  }

  /** Telegram's apps record Opus in Ogg. */
  voice(bytes: Uint8Array, seconds: number): Params {
    return { voice: { ...this.#json({ bytes, mimeType: 'audio/ogg' }, 'voice'), duration: seconds } };
  }

  video(file: FakeFile): Params {
    return {
      video: { width: 640, height: 480, duration: file.seconds ?? 1, ...this.#json(file, 'videos') },
    };
  }

  videoNote(bytes: Uint8Array, seconds: number): Params {
    return { video_note: { length: 240, duration: seconds, ...this.#json({ bytes }, 'video_notes') } };
  }

  /** Also sent as a document, for old bots. */
  animation(file: FakeFile): Params {
    const json = this.#json(file, 'animations');
    return { animation: { width: 320, height: 240, duration: 2, ...json }, document: json };
  }

  /** The next download fails like this, or the one after this many that do not. */
  failure(failure: DownloadFailure, after = 0): void {
    this.#failures.push(...Array.from({ length: after }, () => undefined), failure);
  }

  /** `getFile`. */
  describe(params: Params): Params {
    const file = this.#files.get(textOf(params['file_id']));
    if (file === undefined) throw badRequest('wrong file_id or the file is temporarily unavailable');
    const size = sizeOf(file);
    if (size > MAX_DOWNLOAD) throw badRequest('file is too big');
    return {
      file_id: file.id,
      file_unique_id: file.id.slice(-16),
      file_size: size,
      file_path: file.path,
    };
  }

  /** Answers a GET below `/file/bot<token>/`. */
  serve(path: string, response: ServerResponse): void {
    const file = [...this.#files.values()].find((one) => one.path === path);
    this.downloads += 1;
    const failure = file === undefined ? 404 : this.#failures.shift();
    if (file === undefined || typeof failure === 'number') {
      const status = typeof failure === 'number' ? failure : 404;
      response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '1' });
      response.end(JSON.stringify({ ok: false, error_code: status, description: 'Not Found' }));
      return;
    }
    response.writeHead(200, {
      'content-type': 'application/octet-stream',
      'content-length': file.bytes.length,
    });
    if (failure === undefined) {
      response.end(file.bytes);
      return;
    }
    response.write(file.bytes.subarray(0, Math.ceil(file.bytes.length / 2)), () => {
      if (failure === 'cut') response.destroy();
    });
  }

  /** Stores a file; returns its JSON. */
  #json(file: FakeFile, folder: string): Params {
    const id = `BQACAgIAAx${randomBytes(24).toString('base64url')}`;
    const extension = /\.\w{1,8}$/.exec(file.name ?? '')?.[0] ?? (folder === 'photos' ? '.jpg' : '');
    this.#files.set(id, { ...file, id, path: `${folder}/file_${this.#files.size}${extension}` });
    return {
      file_id: id,
      file_unique_id: createHash('sha256').update(file.bytes).digest('base64url').slice(0, 16),
      file_size: sizeOf(file),
      ...(file.name !== undefined && { file_name: file.name }),
      ...(file.mimeType !== undefined && { mime_type: file.mimeType }),
    };
  }
}

function sizeOf({ bytes, size }: FakeFile): number {
  return size ?? bytes.length;
}
