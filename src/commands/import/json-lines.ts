/** Reads JSONL files of any size, a line at a time. */
import type { FileHandle } from 'node:fs/promises';
import { isJsonObject, isTooDeep, parseJson } from '../../lib/json/json.ts';
import { linesOf } from '../../lib/lines.ts';
import { MAX_LINE_BYTES } from './items.ts';

/** The objects of a file's lines, and the number of lines that are none. */
export interface JsonLines {
  objects: AsyncGenerator<Record<string, unknown>>;
  /** Lines that are no JSON object, or longer than `MAX_LINE_BYTES`, so far. */
  broken(): number;
}

/** Reads an open file, and closes it at its end. `objects` throws errors of the file system. */
export function readJsonLines(file: FileHandle): JsonLines {
  let broken = 0;
  async function* objects(): AsyncGenerator<Record<string, unknown>> {
    const { size } = await file.stat();
    if (size === 0) {
      await file.close();
      return;
    }
    // No more than its size at the start: its program may be running.
    for await (const { bytes } of linesOf(file.createReadStream({ end: size - 1 }), MAX_LINE_BYTES)) {
      const line = bytes === undefined ? undefined : new TextDecoder().decode(bytes);
      if (line?.trim() === '') continue;
      const value = line === undefined ? undefined : parseJson(line);
      if (isJsonObject(value) && !isTooDeep(value)) yield value;
      else broken += 1;
    }
  }
  return { objects: objects(), broken: () => broken };
}
