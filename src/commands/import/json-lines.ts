/** Reads JSONL files of any size, a line at a time. */
import type { FileHandle } from 'node:fs/promises';
import { isJsonObject, isTooDeep, parseJson } from '../../lib/json/json.ts';
import { MAX_LINE_BYTES } from './items.ts';

/** The objects of a file's lines, and the number of lines that are none. */
export interface JsonLines {
  objects: AsyncGenerator<Record<string, unknown>>;
  /** Lines that are no JSON object, or longer than `MAX_LINE_BYTES`, so far. */
  broken(): number;
}

const NEWLINE = 0x0a;

/** Reads an open file, and closes it at its end. `objects` throws errors of the file system. */
export function readJsonLines(file: FileHandle): JsonLines {
  let broken = 0;
  async function* objects(): AsyncGenerator<Record<string, unknown>> {
    for await (const line of linesOf(file)) {
      if (line === undefined) {
        broken += 1;
        continue;
      }
      if (line.trim() === '') continue;
      const value = parseJson(line);
      if (isJsonObject(value) && !isTooDeep(value)) yield value;
      else broken += 1;
    }
  }
  return { objects: objects(), broken: () => broken };
}

/** The lines of a file; undefined for each that is too long. */
async function* linesOf(file: FileHandle): AsyncGenerator<string | undefined> {
  let pieces: Uint8Array[] = [];
  let bytes = 0;
  const take = (): string | undefined => {
    const line = bytes > MAX_LINE_BYTES ? undefined : new TextDecoder().decode(Buffer.concat(pieces));
    pieces = [];
    bytes = 0;
    return line;
  };
  const { size } = await file.stat();
  if (size === 0) {
    await file.close();
    return;
  }
  // No more than its size at the start: its program may be running.
  for await (const chunk of file.createReadStream({ end: size - 1 })) {
    let piece: Uint8Array = chunk;
    for (let at = piece.indexOf(NEWLINE); at >= 0; at = piece.indexOf(NEWLINE)) {
      add(piece.subarray(0, at));
      yield take();
      piece = piece.subarray(at + 1);
    }
    add(piece);
  }
  if (bytes > 0) yield take();

  function add(piece: Uint8Array): void {
    bytes += piece.length;
    if (bytes > MAX_LINE_BYTES) pieces = [];
    else if (piece.length > 0) pieces.push(piece);
  }
}
