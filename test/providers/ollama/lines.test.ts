/** That the line filter lets only whole JSON objects through, whatever bytes come in whatever pieces. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ProviderError } from '../../../src/contracts/errors.ts';
import { createDocumentFilter, MAX_DOCUMENT_BYTES } from '../../../src/providers/line-filter.ts';
import { createOllamaFilter } from '../../../src/providers/ollama/lines.ts';

const failed = (error: string): ProviderError => new ProviderError('bad_response', error);

/** Runs bytes through a filter and gives what passed, and the error that ended it. */
function filtered(pieces: readonly Uint8Array[]): { passed: string; error: unknown } {
  const filter = createOllamaFilter(failed);
  let passed = '';
  const pass = (bytes: Buffer): void => void (passed += bytes.toString());
  try {
    for (const piece of pieces) filter.write(Buffer.from(piece), pass);
    filter.end(pass);
  } catch (error) {
    return { passed, error };
  }
  return { passed, error: undefined };
}

describe('the line filter', () => {
  it('throws only ProviderError and passes only objects, whatever bytes come', () => {
    const json = fc.constantFrom(
      '{"a":1}\n',
      '{"done":true}\n',
      '{"error":"x"}\n',
      '\r\n',
      '[]\n',
      '{"content":"ж"}\n',
    );
    const piece = fc.oneof(
      json.map((text) => Buffer.from(text)),
      fc.uint8Array({ maxLength: 20 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const { passed, error } = filtered(pieces);
        expect(error === undefined || error instanceof ProviderError).toBe(true);
        for (const line of passed.split('\n').filter((text) => text !== '')) {
          expect(JSON.parse(line)).toBeTypeOf('object');
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('passes the same lines however they are cut', () => {
    const lines = fc.array(fc.record({ text: fc.string({ unit: 'binary' }) }), { maxLength: 6 });
    fc.assert(
      fc.property(
        lines,
        fc.integer({ min: 1, max: 40 }),
        fc.constantFrom('\n', '\r\n', '\n\n'),
        (objects, size, eol) => {
          const all = [...objects, { done: true }];
          const wire = Buffer.from(all.map((object) => JSON.stringify(object) + eol).join(''));
          const pieces = Array.from({ length: Math.ceil(wire.length / size) }, (_, index) =>
            wire.subarray(index * size, (index + 1) * size),
          );
          const { passed, error } = filtered(pieces);
          expect(error).toBeUndefined();
          expect(
            passed
              .trim()
              .split('\n')
              .map((line) => JSON.parse(line)),
          ).toEqual(all);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('takes a last line without its newline, but not half of one', () => {
    expect(filtered([Buffer.from('{"a":1}\n{"done":true}')]).error).toBeUndefined();
    expect(filtered([Buffer.from('{"a":1}\n{"done":tr')]).error).toMatchObject({ code: 'bad_response' });
  });

  it('passes what stands before a failure in the same packet', () => {
    const { passed, error } = filtered([Buffer.from('{"a":1}\n{"error":"broken"}\n{"b":2}\n')]);
    expect(passed).toBe('{"a":1}\n');
    expect(error).toMatchObject({ message: 'broken' });
  });

  it('passes nothing after the done line', () => {
    const { passed, error } = filtered([
      Buffer.from('{"done":true}\n{"late":1}\nnoise\n'),
      Buffer.from('noise\n'),
    ]);
    expect(error).toBeUndefined();
    expect(passed).toBe('{"done":true}\n');
  });

  it('takes a document up to its limit and not a byte more', () => {
    const filter = createDocumentFilter();
    let passed = 0;
    const pass = (bytes: Buffer): void => void (passed += bytes.length);
    filter.write(Buffer.alloc(MAX_DOCUMENT_BYTES), pass);
    expect(passed).toBe(MAX_DOCUMENT_BYTES);
    expect(() => filter.write(Buffer.alloc(1), pass)).toThrow(String(MAX_DOCUMENT_BYTES));
  });
});
