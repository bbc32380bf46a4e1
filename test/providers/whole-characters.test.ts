/** Characters cut in two by a server, put together again. */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { ChatChunk } from '../../src/protocol/agent/provider.ts';
import { createCharacterJoiner } from '../../src/providers/answers/answer-reading.ts';

const DONE: ChatChunk = {
  type: 'done',
  finishReason: 'stop',
  usage: { promptTokens: 0, completionTokens: 0, modelMs: 0 },
};

/** What the chunks of an answer become, joined for each kind; throws for a chunk that holds half a character. */
function joined(chunks: readonly ChatChunk[]): {
  text: string;
  thinking: string;
} {
  const join = createCharacterJoiner();
  const whole = { text: '', thinking: '' };
  for (const chunk of [...chunks, DONE].flatMap((each) => join([each]))) {
    if (chunk.type !== 'text' && chunk.type !== 'thinking') continue;
    expect(chunk.delta.isWellFormed()).toBe(true);
    whole[chunk.type] += chunk.delta;
  }
  return whole;
}

it('gives every text as a well-formed one, wherever it is cut', () => {
  const texts = fc.string({ unit: 'grapheme', maxLength: 30 });
  fc.assert(
    fc.property(texts, texts, (thought, text) => {
      const units = (type: 'text' | 'thinking', all: string): ChatChunk[] =>
        all.split('').map((delta) => ({ type, delta }));
      expect(joined([...units('thinking', thought), ...units('text', text)])).toEqual({
        text: text.toWellFormed(),
        thinking: thought.toWellFormed(),
      });
    }),
  );
});

it('replaces halves that stay alone, in their place', () => {
  const chunks: ChatChunk[] = [
    { type: 'thinking', delta: 'a\ud83d' },
    { type: 'text', delta: '\ude00b\ud83d' },
    { type: 'text', delta: '\ud83d' },
    { type: 'text', delta: '\ude00' },
  ];
  expect(joined(chunks)).toEqual({
    thinking: 'a\ufffd',
    text: '\ufffdb\ufffd😀',
  });
});

it('passes chunks without cut characters on unchanged', () => {
  const chunks: ChatChunk[] = [{ type: 'text', delta: '👩‍🚀' }, DONE];
  expect(createCharacterJoiner()(chunks)).toBe(chunks);
});
