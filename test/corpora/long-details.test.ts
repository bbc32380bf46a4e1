/** `<details>` that are longer than a message, on every network: each message folds its own part, and none shows a tag. */
import { describe, expect, it } from 'vitest';
import { chunksOf, MessageChunker } from '../../src/delivery/text/chunker.ts';
import { NETWORKS } from './networks.ts';

const TAG = /<\/?(?:details|summary)/i;
const lines = (name: string, count: number): string =>
  Array.from({ length: count }, (_, n) => `Line ${name}${n} says something of its own.`).join('\n\n');
const details = (summary: string, inside: string): string =>
  `<details>\n<summary>${summary}</summary>\n\n${inside}\n\n</details>`;
const list = Array.from({ length: 500 }, (_, n) => `- item ${n} of the list`).join('\n');
const code = `\`\`\`js\n${Array.from({ length: 400 }, (_, n) => `const constant${n} = ${n} * 1000;`).join('\n')}\n\`\`\``;

const ANSWERS: Record<string, string> = {
  paragraphs: `Before.\n\n${details('The **proof**', lines('p', 300))}\n\nAfter.`,
  'a list right before the end': `Before.\n\n<details>\n<summary>The proof</summary>\n\n${list}\n</details>\n\nAfter.`,
  code: `Before.\n\n${details('The proof', code)}\n\nAfter.`,
  'details in details': `Before.\n\n${details('The proof', `${lines('a', 20)}\n\n${details('The lemma', lines('b', 200))}\n\n${lines('c', 20)}`)}\n\nAfter.`,
};

describe.each(NETWORKS)('$name', ({ target, read }) => {
  it.each(Object.keys(ANSWERS))('with %s', async (name) => {
    const text = ANSWERS[name] ?? '';
    const whole = await chunksOf(text, target, () => Promise.resolve());
    const shown = whole.map((message) => read(message)[0]);
    expect(shown.length).toBeGreaterThan(1);
    for (const message of shown) expect(message).not.toMatch(TAG);
    for (const message of shown.slice(0, -1)) expect(message).toContain('proof');
    expect(shown.at(-1)).toMatch(/After\.$/);
    // While it grows, the end of a message that is not settled yet may be a part of a tag, and no whole one.
    const growing = new MessageChunker(target);
    for (let at = 0; at < text.length; at += 40) {
      growing.push(text.slice(at, at + 40));
      const now = growing.open().map((message) => read(message)[0]);
      for (const message of now) expect(message.slice(0, -20)).not.toMatch(TAG);
    }
    expect(growing.finish()).toEqual(whole);
  });

  it('with a summary that is too long to be repeated', async () => {
    const summary = 'word '.repeat(60).trim();
    const text = `${details(summary, lines('p', 300))}\n\nAfter.`;
    const shown = (await chunksOf(text, target, () => Promise.resolve())).map((one) => read(one)[0]);
    expect(shown.filter((message) => message.includes('word word'))).toHaveLength(1);
    for (const message of shown) expect(message).not.toMatch(TAG);
  });
});
