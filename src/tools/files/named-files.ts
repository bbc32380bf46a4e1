/** The files of a workspace that a call names, and those that these name in turn: what a person sees and approves. */
import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import {
  MAX_NAMED_FILES,
  MAX_SCRIPT_BYTES,
  MAX_SHOWN_FILE,
  type NamedFile,
} from '../../protocol/agent/approvals.ts';
import { ToolError } from '../../protocol/errors.ts';
import { openInside, pathParts } from './workspace.ts';

/** Folders named by one call in which its other names are looked up, too. */
const MAX_NAMED_FOLDERS = 4;
/** Paths that are looked up in the workspace because files may name them, per call. */
export const MAX_FOLLOWED_PATHS = 2_000;
/** Bytes read at a time. */
const READ_BYTES = 256 * 1024;

/** Returns the words of a text that may name files. */
type WordsIn = (text: string) => readonly string[];

/** A file that was found, and its text, which may name further files; undefined if it is not text. */
interface FoundFile {
  file: NamedFile;
  script?: { text: string } | undefined;
}

/**
 * `SessionFiles.named`: the files among `words`, and with `wordsIn` those that their texts name, at any depth, as far as
 * there is room. Throws `ToolError`.
 */
export async function namedFiles(
  workspace: string,
  words: readonly string[],
  wordsIn?: WordsIn,
): Promise<NamedFile[]> {
  const files = new Map<string, FoundFile>();
  const paths = new Set<string>();
  const folders: string[] = [];
  let followed = 0;
  const unique = [...new Set(words)];
  const look = async (word: string, namedIn?: string): Promise<void> => {
    const filePath = plainPath(word);
    if (filePath === undefined || paths.has(filePath)) return;
    if (namedIn !== undefined) {
      if (followed >= MAX_FOLLOWED_PATHS) throw tooMany();
      followed += 1;
    }
    paths.add(filePath);
    const entry = await readNamed(workspace, filePath, namedIn);
    if (entry === undefined) return;
    if (entry === 'folder') {
      if (namedIn === undefined) folders.push(filePath);
      return;
    }
    if (files.size >= MAX_NAMED_FILES) throw tooMany();
    files.set(filePath, entry);
  };
  for (const word of unique) await look(word);
  // `cd sub && sh run.sh` names sub/run.sh.
  const inside = folders.slice(0, MAX_NAMED_FOLDERS);
  for (const folder of inside) {
    for (const word of unique) await look(`${folder}/${word}`);
  }
  // A map is iterated in insertion order, so what a file names is followed, too.
  for (const each of wordsIn === undefined ? [] : files.values()) {
    await follow(each, wordsIn ?? (() => []), inside, look);
  }
  return [...files.values()].map(({ file }) => file).toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

/** Looks up the words of a file in the workspace, in the folders of the call and next to the file itself. */
async function follow(
  { file, script }: FoundFile,
  wordsIn: WordsIn,
  folders: readonly string[],
  look: (word: string, namedIn: string) => Promise<void>,
): Promise<void> {
  if (script === undefined) return;
  const siblingFolder = file.path.includes('/') ? [file.path.slice(0, file.path.lastIndexOf('/'))] : [];
  try {
    for (const word of new Set(wordsIn(script.text))) {
      await look(word, file.path);
      for (const folder of new Set([...folders, ...siblingFolder]))
        await look(`${folder}/${word}`, file.path);
    }
  } catch (error) {
    if (!(error instanceof ToolError) || error.code !== 'too_many_files') throw error;
    // The call itself names few enough: these are shown for information, and the state of the folder binds the rest.
  }
}

function tooMany(): ToolError {
  const text = `The call names more than ${MAX_NAMED_FILES} files of the workspace, more than a person can be asked about: make it smaller.`;
  return new ToolError('too_many_files', text);
}

/** The path without empty parts; undefined for a word that is no path below the workspace. */
function plainPath(word: string): string | undefined {
  try {
    return pathParts(word).join('/') || undefined;
  } catch (error) {
    if (error instanceof ToolError) return undefined;
    throw error;
  }
}

async function readNamed(
  workspace: string,
  filePath: string,
  namedIn: string | undefined,
): Promise<FoundFile | 'folder' | undefined> {
  const names = { path: filePath, ...(namedIn !== undefined && { namedIn }) };
  try {
    await using file = await openInside(workspace, filePath);
    if (file.stats.isDirectory()) return 'folder';
    const { script, ...content } = await contentOf(file.handle);
    return { file: { ...names, ...content }, script };
  } catch (error) {
    if (!(error instanceof ToolError) || error.code === 'unreadable') throw error;
    if (error.code !== 'refused') return undefined;
    return { file: { ...names, problem: error.message } };
  }
}

/** The size and digest of a content, and the text if it is short; in pieces, so that no file blocks the gateway. */
export async function contentOf(handle: FileHandle) {
  const hash = createHash('sha256');
  const piece = Buffer.alloc(READ_BYTES);
  let bytes = 0;
  let first = Buffer.alloc(0);
  for (;;) {
    const { bytesRead } = await handle.read(piece, 0, piece.length, bytes);
    if (bytesRead === 0) break;
    const read = piece.subarray(0, bytesRead);
    if (bytes === 0) first = Buffer.from(read);
    hash.update(read);
    bytes += bytesRead;
  }
  const content = { bytes, sha256: hash.digest('hex') };
  if (first.includes(0)) return { ...content, script: undefined };
  if (bytes > MAX_SCRIPT_BYTES) return { ...content, script: undefined };
  const text = utf8Text(first);
  if (text === undefined) return { ...content, script: undefined };
  return { ...content, ...(text.length <= MAX_SHOWN_FILE && { text }), script: { text } };
}

function utf8Text(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    // Not UTF-8: its digest is shown.
    return undefined;
  }
}
