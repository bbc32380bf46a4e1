/** Which parts of an answer are read aloud. */
import { describe, expect, it } from 'vitest';
import { MAX_PARSED } from '../../src/lib/markdown/markdown.ts';
import { spokenText } from '../../src/media/spoken-text.ts';

const spoken = (markdown: string): string => spokenText(markdown, 4_000).text;

describe('what is read aloud', () => {
  it('is the text of headings, paragraphs, lists, quotes and tables, each with a final stop', () => {
    const markdown =
      '# Plan\n\nDo **this**\nnow!\n\n- one\n- two *and* `three`\n\n> said so\n\n| a | b |\n|---|---|\n| 1 | 2 |\n';
    expect(spoken(markdown)).toBe('Plan.\nDo this now!\none.\ntwo and three.\nsaid so.\na, b.\n1, 2.');
  });

  it('excludes code, pictures and addresses; of a link only its text', () => {
    const markdown =
      'See [the manual](https://example.org/a?b=c) or https://example.org/x, please.\n\n```js\nalert(1)\n```\n\n![chart](chart.png)\n\n---\n\nDone.';
    expect(spoken(markdown)).toBe('See the manual or, please.\nDone.');
  });

  it('is nothing when there are no words', () => {
    expect(spokenText('```\ncode\n```', 100)).toEqual({ text: '', isCut: false });
    expect(spokenText('🎉 …', 100)).toEqual({ text: '', isCut: false });
  });

  it('ends after a sentence when it is too long, else after a word, and says so', () => {
    const text = 'One is short. Two is longer. Three.';
    expect(spokenText(text, text.length)).toEqual({ text, isCut: false });
    expect(spokenText(text, text.length - 1)).toEqual({ text: 'One is short. Two is longer.', isCut: true });
    expect(spokenText(text, 20)).toEqual({ text: 'One is short.', isCut: true });
    expect(spokenText(text, 8)).toEqual({ text: 'One is', isCut: true });
    expect(spokenText('字'.repeat(200), 100)).toEqual({ text: '字'.repeat(100), isCut: true });
  });

  it('is the beginning of a text that is too long to be parsed', () => {
    const long = `Hello. ${'x'.repeat(MAX_PARSED)}`;
    expect(spokenText(long, 100)).toEqual({ text: 'Hello.', isCut: true });
    expect(spokenText(`Hello.${' '.repeat(MAX_PARSED)}`, 100)).toMatchObject({ text: 'Hello.' });
  });
});
