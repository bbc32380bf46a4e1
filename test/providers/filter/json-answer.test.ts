/** The text of a JSON answer without a fence or a byte order mark, however its stream is cut. */
import { describe, expect, it } from 'vitest';
import type { ChatChunk } from '../../../src/protocol/agent/provider.ts';
import { unwrapJson } from '../../../src/providers/router.ts';

const DONE: ChatChunk = {
  type: 'done',
  finishReason: 'stop',
  usage: { promptTokens: 1, completionTokens: 1, modelMs: 1 },
};

async function* chunksOf(...chunks: ChatChunk[]): AsyncGenerator<ChatChunk> {
  yield* chunks;
}

/** The texts of the answer in pieces of `size` characters. */
async function unwrapped(text: string, size: number): Promise<string> {
  const pieces: ChatChunk[] = [];
  for (let at = 0; at < text.length; at += size)
    pieces.push({ type: 'text', delta: text.slice(at, at + size) });
  let out = '';
  for await (const chunk of unwrapJson(chunksOf(...pieces, DONE)))
    if (chunk.type === 'text') out += chunk.delta;
  return out;
}

describe('the text of a JSON answer', () => {
  it.each([
    ['{"a": 1}', '{"a": 1}'],
    ['```json\n{"a": 1}\n```', '{"a": 1}'],
    ['```\r\n{"a": 1}\r\n```\r\n', '{"a": 1}'],
    ['```JSON5 \n[1]\n```', '[1]'],
    ['```json{"a": 1}```', '{"a": 1}'],
    ['\n\n```json\n{\n\n"a": "```"\n}\n```', '{\n\n"a": "```"\n}'],
    ['\ufeff{"a": 1}', '{"a": 1}'],
    ['\ufeff```json\n{}\n```', '{}'],
    ['```json\n{"a": ', '{"a": '],
    ['```json\n{}\n``', '{}\n``'],
    ['```json\n{}\n```\nHere it is.', '{}\n```\nHere it is.'],
    ['`{}`', '`{}`'],
    ['``', '``'],
    ['Here: ```json\n{}\n```', 'Here: ```json\n{}\n```'],
    ['"```"', '"```"'],
    ['', ''],
  ])('%j is passed on as %j', async (text, wanted) => {
    for (const size of [1, 2, 3, 5, 1_000]) expect(await unwrapped(text, size)).toBe(wanted);
  });

  it('is not held back for long by white space', async () => {
    const text = `\`\`\`json\n{${' '.repeat(5_000)}`;
    expect((await unwrapped(text, 100)).trimEnd()).toBe('{');
    expect(await unwrapped(text, 100)).toHaveLength(5_001);
  });

  it('passes on as it comes when it has likelihoods, and so does all else', async () => {
    const logprobs = [{ token: '`', logprob: -1, bytes: null, top: [] }];
    const chunks: ChatChunk[] = [
      { type: 'thinking', delta: '```' },
      { type: 'text', delta: '```', logprobs },
      { type: 'tool_call', call: { id: 'c', name: 'look', args: {} } },
      DONE,
    ];
    const out: ChatChunk[] = [];
    for await (const chunk of unwrapJson(chunksOf(...chunks))) out.push(chunk);
    expect(out).toEqual(chunks);
  });

  it('starts again when all of it was a thought', async () => {
    const chunks: ChatChunk[] = [
      { type: 'text', delta: 'Let me see.' },
      { type: 'text_was_thinking' },
      { type: 'text', delta: '```json\n{}\n```' },
      DONE,
    ];
    let out = '';
    for await (const chunk of unwrapJson(chunksOf(...chunks))) if (chunk.type === 'text') out += chunk.delta;
    expect(out).toBe('Let me see.{}');
  });
});
