/** Ollama's stream is read only as complete JSON objects, whatever bytes arrive in whatever packets. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ProviderError } from '../../../src/protocol/errors.ts';
import { createAnswerReader } from '../../../src/providers/ollama/lines.ts';
import { createCallMaker } from '../../../src/providers/answers/tool-calls.ts';
import { createDocumentCollector, MAX_DOCUMENT_BYTES } from '../../../src/providers/answers/read-answer.ts';
import { readPackets } from '../answers.ts';

const failed = (error: string): ProviderError => new ProviderError('bad_response', error);

/** Reads packets as one answer; returns the texts received and the error that ended it. */
async function textsOf(packets: readonly Uint8Array[]) {
  const { chunks, error, ends } = await readPackets(
    packets,
    createAnswerReader(createCallMaker(new Map()), failed),
  );
  const texts = chunks.flatMap((chunk) => (chunk.type === 'text' ? [chunk.delta] : []));
  return { texts, error, ends, finished: chunks.filter(({ type }) => type === 'done').length };
}

const line = (content: string): string => JSON.stringify({ message: { content }, done: false });

describe('the lines of an answer', () => {
  it('yield text and ProviderErrors, whatever bytes arrive', async () => {
    const json = fc.constantFrom(
      '{"a":1}\n',
      '{"done":true}\n',
      '{"error":"x"}\n',
      '\r\n',
      '[]\n',
      `${line('ж')}\n`,
    );
    const packet = fc.oneof(
      json.map((text) => Buffer.from(text)),
      fc.uint8Array({ maxLength: 20 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(packet, { maxLength: 8 }), async (packets) => {
        const { texts, error, finished, ends } = await textsOf(packets);
        expect(error ?? failed('none')).toMatchObject({ code: 'bad_response' });
        expect(finished).toBe(error === undefined ? 1 : 0);
        expect(ends).toEqual([error === undefined]);
        expect(texts.every((text) => text === 'ж')).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  it('are the same however they are cut', async () => {
    const texts = fc.array(fc.string({ unit: 'binary', minLength: 1 }), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(
        texts,
        fc.integer({ min: 1, max: 40 }),
        fc.constantFrom('\n', '\r\n', '\n\n'),
        async (all, size, eol) => {
          const wire = Buffer.from([...all.map(line), '{"done":true}'].map((text) => text + eol).join(''));
          const packets = Array.from({ length: Math.ceil(wire.length / size) }, (_, index) =>
            wire.subarray(index * size, (index + 1) * size),
          );
          const { texts: read, ...rest } = await textsOf(packets);
          expect(read.join('')).toBe(all.join(''));
          expect(rest).toEqual({ error: undefined, ends: [true], finished: 1 });
        },
      ),
      { numRuns: 500 },
    );
  });

  it('may end without a newline, but not in the middle of a line', async () => {
    expect(await textsOf([Buffer.from(`${line('a')}\n{"done":true}`)])).toMatchObject({ finished: 1 });
    const { error } = await textsOf([Buffer.from(`${line('a')}\n{"done":tr`)]);
    expect(error).toMatchObject({ code: 'bad_response' });
  });

  it('count when they precede a failure in the same packet', async () => {
    const packet = Buffer.from(`${line('before')}\n{"error":"broken"}\n${line('after')}\n`);
    const { texts, error } = await textsOf([packet]);
    expect(texts).toEqual(['before']);
    expect(error).toMatchObject({ message: 'broken' });
  });

  it('are not read after the done line', async () => {
    const packets = [Buffer.from(`{"done":true}\n${line('late')}\nnoise\n`), Buffer.from('noise\n')];
    expect(await textsOf(packets)).toEqual({ texts: [], error: undefined, ends: [true], finished: 1 });
  });

  it('are read by the same rules when they hold more than text', async () => {
    const rare = [
      { message: { content: 'a', thinking: null }, done: false },
      { message: { content: 'b', tool_calls: [] } },
      { message: { thinking: '', content: 'c' }, done: false, novel: true },
      { message: null },
      { done: null },
    ];
    const lines = [...rare.map((value) => JSON.stringify(value)), '{"done":true}'];
    expect((await textsOf([Buffer.from(lines.join('\n'))])).texts).toEqual(['abc']);
  });
});

describe('a document', () => {
  it('is accepted up to its limit and not a byte more', () => {
    const document = createDocumentCollector();
    expect(document.push(Buffer.alloc(MAX_DOCUMENT_BYTES, 'x'))).toEqual([]);
    expect(document.end()[0]).toHaveLength(MAX_DOCUMENT_BYTES);
    expect(() => document.push(Buffer.alloc(1))).toThrow(String(MAX_DOCUMENT_BYTES));
  });
});
