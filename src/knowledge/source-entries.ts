/** The documents of a source: which there are, and how to get the bytes of each. */
import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { GatewayError } from '../protocol/errors.ts';
import {
  type ClaimedSource,
  type KnowledgeStore,
  MAX_DOCUMENT_BYTES,
  MAX_FOLDER_FILES,
} from '../protocol/knowledge.ts';
import { storedText, textRef } from '../protocol/texts/say.ts';
import { inMegabytes } from '../lib/text.ts';
import { openPlainFile, walkFolder } from '../lib/walk-folder.ts';
import type { DocumentReaders, LoadedDocument } from './read-document.ts';

/** Entries of a folder that are looked at, to find the first files by their paths. */
const MAX_WALKED_ENTRIES = 200_000;

/** A document that a source has now. */
export interface SourceEntry {
  name: string;
  /** Size and time: when they are the same, it is not read again. */
  mark?: string | undefined;
  /** Undefined: unchanged. Throws `GatewayError`, or an error of the file system. */
  load: (signal: AbortSignal, previousMark: string | undefined) => Promise<LoadedDocument | undefined>;
}

/** Codes of folders that are left out: they vanished, became a link, or may not be read. */
const UNREADABLE = ['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES', 'EPERM'];

interface Entries {
  entries: SourceEntry[];
  notice?: string | undefined;
}

/** What the entries of a source are read with. */
export interface EntryDeps {
  store: Pick<KnowledgeStore, 'uploadOf'>;
  readers: DocumentReaders;
  /** The home of the gateway, whose files are no documents. */
  home: string;
}

/** Lists them. Throws `GatewayError` when the source itself cannot be read, and `StoreError`. */
export async function entriesOf(deps: EntryDeps, source: ClaimedSource): Promise<Entries> {
  const { location } = source;
  switch (source.kind) {
    case 'folder':
      return await folderEntries(location, deps.home);
    case 'file':
      return { entries: [await fileEntry(location)] };
    case 'url':
      return {
        entries: [
          {
            name: location,
            load: (signal, previousMark) => fetched(deps.readers, location, signal, previousMark),
          },
        ],
      };
    case 'upload': {
      const bytes = await deps.store.uploadOf(source.id);
      if (bytes === undefined) return { entries: [{ name: location, load: async () => undefined }] };
      const document = { name: location, title: location, bytes: Buffer.from(bytes), contentType: '' };
      return { entries: [{ name: location, load: async () => document }] };
    }
    default:
      return source.kind satisfies never;
  }
}

/** Hidden files and folders, and folders of packages, are no documents. */
const LEFT_OUT = /(?:^|\/)(?:\.[^/]*|node_modules|__pycache__)$/;
/** Files without text. */
const WITHOUT_TEXT =
  /\.(?:jpe?g|png|gif|webp|avif|heic|heif|tiff?|bmp|ico|svg|mp[34]|m4[av]|mov|avi|mkv|webm|wav|ogg|flac|zip|gz|bz2|xz|7z|rar|tar|exe|dll|so|dylib|bin|iso|dmg|woff2?|ttf|otf|class|jar|pyc|o|a|sqlite|db)$/i;

async function folderEntries(folder: string, home: string): Promise<Entries> {
  const files: string[] = [];
  let walked = 0;
  let withoutText = 0;
  const enters = (name: string): boolean => !LEFT_OUT.test(name) && path.join(folder, name) !== home;
  await missing(folder, async () => {
    for await (const { name, isFile } of walkFolder(folder, { skips: UNREADABLE, enters })) {
      walked += 1;
      if (walked > MAX_WALKED_ENTRIES) break;
      if (!isFile) continue;
      if (WITHOUT_TEXT.test(name)) withoutText += 1;
      else files.push(name);
    }
  });
  files.sort((a, b) => (a < b ? -1 : 1));
  const notices = [
    ...(files.length > MAX_FOLDER_FILES
      ? [textRef('knowledge.first_files', { most: MAX_FOLDER_FILES, count: files.length })]
      : []),
    ...(walked > MAX_WALKED_ENTRIES
      ? [textRef('knowledge.first_entries', { most: MAX_WALKED_ENTRIES })]
      : []),
    ...(withoutText > 0 ? [textRef('knowledge.without_text', { count: withoutText })] : []),
  ];
  const entries = files.slice(0, MAX_FOLDER_FILES).map((name) => ({
    name,
    load: (_signal: AbortSignal, previousMark: string | undefined) =>
      loadFile(path.join(folder, name), name, previousMark),
  }));
  return { entries, notice: notices.length === 0 ? undefined : notices.map(storedText).join('\n') };
}

async function fileEntry(file: string): Promise<SourceEntry> {
  await missing(file, () => stat(file));
  const name = path.basename(file);
  return { name, load: (_signal, previousMark) => loadFile(file, name, previousMark) };
}

async function missing<Result>(location: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown';
    throw new GatewayError('unreadable', textRef('knowledge.no_path', { location, code }), { cause });
  }
}

async function loadFile(
  file: string,
  name: string,
  previousMark: string | undefined,
): Promise<LoadedDocument | undefined> {
  const handle = await openPlainFile(file);
  if (handle === undefined) throw new GatewayError('no_file', textRef('knowledge.no_file'));
  try {
    const { size, mtimeMs } = await handle.stat();
    const mark = markOf(size, mtimeMs);
    if (mark === previousMark) return undefined;
    if (size > MAX_DOCUMENT_BYTES) throw new DocumentTooLarge(mark, size);
    return { name, title: name, bytes: await readFile(handle), mark, contentType: '' };
  } finally {
    await handle.close();
  }
}

/** It is too large to be read, and stays so while it has this mark. */
export class DocumentTooLarge extends GatewayError {
  readonly mark: string;

  constructor(mark: string, bytes: number) {
    const most = inMegabytes(MAX_DOCUMENT_BYTES);
    super('too_large', textRef('knowledge.too_large', { size: inMegabytes(bytes), most }));
    this.mark = mark;
  }
}

function markOf(size: number, mtimeMs: number): string {
  return `${size}:${Math.round(mtimeMs)}`;
}

async function fetched(
  { egress }: DocumentReaders,
  url: string,
  signal: AbortSignal,
  previousMark: string | undefined,
): Promise<LoadedDocument | undefined> {
  const headers: Record<string, string> = previousMark === undefined ? {} : { 'if-none-match': previousMark };
  const answer = await egress({ url, headers, signal });
  const { status, body, contentType, etag } = answer;
  if (status === 304) return undefined;
  if (status !== 200) throw new GatewayError('bad_response', textRef('knowledge.bad_status', { status }));
  if (body.length > MAX_DOCUMENT_BYTES)
    throw new DocumentTooLarge(createHash('sha256').update(body).digest('hex'), body.length);
  return { name: url, title: url, bytes: body, mark: etag, contentType, url: answer.url };
}
