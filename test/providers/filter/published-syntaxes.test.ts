/** Tool calls as text, in the syntax of every published chat template. */
import { describe, expect, it } from 'vitest';
import { SAMPLES } from './published-syntaxes.ts';
import { filterPieces, filterText } from './setup.ts';

const CALL = { name: 'list_dir', args: { path: 'docs' } };
const NAMED = SAMPLES.map((sample) => [sample.models, sample] as const);
const MARKED = NAMED.filter(([, { bare }]) => bare !== true);

describe('a call in the syntax of', () => {
  it.each(NAMED)('%s is read, and nothing of it is shown', (_models, { answer }) => {
    expect(filterText(answer)).toMatchObject({ text: '', calls: [CALL], finishReason: 'tool_calls' });
  });

  it.each(NAMED)('%s is read wherever it is cut in two', (_models, { answer }) => {
    for (let at = 1; at < answer.length; at += 1) {
      const { text, calls } = filterPieces([answer.slice(0, at), answer.slice(at)]);
      expect([at, text, calls]).toEqual([at, '', [CALL]]);
    }
  });

  it.each(MARKED)('%s is read behind words, which stay', (_models, { answer }) => {
    const { text, calls } = filterText(`I look first.\n${answer}`);
    expect([text.trimEnd(), calls]).toEqual(['I look first.', [CALL]]);
  });

  it.each(MARKED)('%s is read twice in a row', (_models, { answer }) => {
    const { text, calls } = filterText(`${answer}\n${answer}`);
    expect([text, calls]).toEqual(['', [CALL, CALL]]);
  });

  it.each(NAMED)('%s stays text when no such tool is offered', (_models, { answer }) => {
    const { calls, finishReason } = filterText(answer.replaceAll('list_dir', 'drop_table'));
    expect([calls, finishReason]).toEqual([[], 'stop']);
    expect(filterText(answer, { tools: [] }).calls).toEqual([]);
  });

  it.each(MARKED)(
    '%s at the end of an unclosed thought is read, if the answer is nothing else',
    (_models, { answer }) => {
      expect(filterText(`<think>I must look.\n${answer}`).calls).toEqual([CALL]);
    },
  );

  it.each(MARKED)('%s in a thought is none when an answer follows', (_models, { answer }) => {
    expect(filterText(`<think>Perhaps ${answer}</think>Done.`)).toMatchObject({ text: 'Done.', calls: [] });
  });
});
