import { array, assert, asyncProperty, constantFrom, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Line, linesOf } from '../../src/lib/lines.ts';

async function read(chunks: readonly string[], maxBytes = 1_000): Promise<(string | undefined)[]> {
  const lines: Line[] = [];
  const stream = (async function* () {
    for (const chunk of chunks) yield Buffer.from(chunk);
  })();
  for await (const line of linesOf(stream, maxBytes)) lines.push(line);
  return lines.map(({ bytes, isEnded }) => bytes && `${bytes.toString()}${isEnded ? '\n' : ''}`);
}

describe('the lines of a stream', () => {
  it('are those between line feeds, however it comes in pieces', async () => {
    const piece = string({ unit: constantFrom('a', 'b', '\r', '\n'), maxLength: 12 });
    await assert(
      asyncProperty(array(piece, { maxLength: 8 }), async (chunks) => {
        expect(await read(chunks)).toEqual(chunks.join('').match(/[^\n]*\n|[^\n]+/g) ?? []);
      }),
    );
  });

  it('have as many bytes as they may, and not one more, wherever the pieces end', async () => {
    for (let cut = 1; cut < 8; cut += 1) {
      const text = 'abcd\nabcde\nend';
      const chunks = [text.slice(0, cut), text.slice(cut)];
      expect(await read(chunks, 4)).toEqual(['abcd\n', undefined, 'end']);
      expect(await read(chunks, 5)).toEqual(['abcd\n', 'abcde\n', 'end']);
    }
  });

  it('are not read on after one that is too long when the reader gives up', async () => {
    let chunks = 0;
    const endless = (async function* () {
      for (;;) {
        chunks += 1;
        yield Buffer.from('no line feed');
      }
    })();
    for await (const { bytes } of linesOf(endless, 100)) {
      expect(bytes).toBeUndefined();
      break;
    }
    expect(chunks).toBe(9);
  });
});
