/** What every model provider must guarantee, whatever its protocol: `providerContract(name, makeHarness)`. */
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ProviderError } from '../../../src/protocol/errors.ts';
import { collectChat } from '../../fakes/agent/collect-chat.ts';
import type { ChatChunk, ChatRequest, ToolSchema } from '../../../src/protocol/agent/provider.ts';
import type { ContractReply, ProviderHarness } from './provider-harness.ts';
import { DEEPEST, TOO_DEEP } from '../../fakes/model/nested-json.ts';
import { startRawServer } from '../../fakes/network/raw-server.ts';

const TOOL: ToolSchema = {
  name: 'look',
  description: 'Looks at a thing.',
  parameters: { type: 'object', properties: { at: { type: 'string' } } },
};
const CLOSE_WITHIN_MS = 1_000;

export function providerContract(name: string, makeHarness: () => Promise<ProviderHarness>): void {
  describe(`${name} as a provider`, () => {
    let gateway: ProviderHarness;
    beforeEach(async () => void (gateway = await makeHarness()));
    afterEach(() => gateway.close());

    const ask = (content: string, more: Partial<ChatRequest> = {}): ChatRequest => ({
      model: gateway.model,
      messages: [{ role: 'user', content }],
      contextWindow: 8_192,
      ...more,
    });
    const stream = (signal = new AbortController().signal, more: Partial<ChatRequest> = {}) =>
      gateway.provider.streamChat(ask('hello', more), signal);
    const answered = async (reply: ContractReply, more: Partial<ChatRequest> = {}) => {
      gateway.answer(reply);
      return collectChat(stream(undefined, more));
    };

    it('yields deltas that add up, thinking before text, and one done at the end (N-48)', async () => {
      gateway.answer({ thinking: ['hm ', 'well'], text: ['a ', 'b ', 'c'] });
      const { chunks } = await drain(stream(undefined, { think: true }));
      expect(joined(chunks, 'thinking')).toBe('hm well');
      expect(joined(chunks, 'text')).toBe('a b c');
      const kinds = chunks.map((chunk) => chunk.type);
      expect(kinds.lastIndexOf('thinking')).toBeLessThan(kinds.indexOf('text'));
      expect(kinds.filter((kind) => kind === 'done')).toHaveLength(1);
      expect(kinds.at(-1)).toBe('done');
    });

    it('reports usage, and that the token limit cut the answer', async () => {
      const whole = await answered({ text: ['one ', 'two'] });
      expect(whole.finishReason).toBe('stop');
      expect(whole.usage.promptTokens).toBeGreaterThan(0);
      expect(whole.usage.completionTokens).toBe(2);
      expect((await answered({ text: ['cut'], tooLong: true })).finishReason).toBe('length');
    });

    it('keeps characters and lines whole however the packets are cut', async () => {
      const pieces = fc.array(fc.string({ unit: 'binary', minLength: 1, maxLength: 12 }), { maxLength: 8 });
      const cuts = fc.array(fc.nat({ max: 1_500 }), { maxLength: 12 });
      await fc.assert(
        fc.asyncProperty(pieces, cuts, async (text, at) => {
          const reply = await answered({ text, packets: (wire) => cutAt(wire, at) });
          expect(reply.content).toBe(text.join(''));
        }),
        { numRuns: 60 },
      );
    });

    it('keeps a character that is cut at every single byte', async () => {
      const bytes = (wire: Buffer): Buffer[] =>
        Array.from(wire, (_, index) => wire.subarray(index, index + 1));
      expect((await answered({ text: ['ж', '👩‍🚀', '漢'], packets: bytes })).content).toBe('ж👩‍🚀漢');
    });

    it('returns tool arguments as objects with unique ids, and reports that tools were called (N-50, N-52)', async () => {
      const toolCalls = [
        { name: 'look', args: { at: 'a', deep: { list: [1] } } },
        { name: 'look', args: {} },
        { name: 'look', args: DEEPEST },
      ];
      const reply = await answered({ text: ['wait'], toolCalls }, { tools: [TOOL] });
      expect(reply.toolCalls.map(({ name, args }) => ({ name, args }))).toEqual(toolCalls);
      expect(new Set(reply.toolCalls.map((call) => call.id)).size).toBe(3);
      expect(reply.finishReason).toBe('tool_calls');
    });

    it.each([['"text"'], [['a']], [7], [TOO_DEEP]])('marks arguments as malformed: %j', async (args) => {
      const reply = await answered({ toolCalls: [{ name: 'look', args }] }, { tools: [TOOL] });
      expect(reply.toolCalls).toMatchObject([{ name: 'look', args: {}, malformed: expect.any(String) }]);
    });

    it('accepts an empty answer, and ignores unknown fields', async () => {
      expect((await answered({ text: [] })).content).toBe('');
      const extra = { logprobs: [], novel: { deep: true } };
      expect((await answered({ text: ['fine'], extra })).content).toBe('fine');
    });

    it.each([
      ['an error told mid-stream', 'error'],
      ['a dead connection', 'cut'],
      ['an end without its closing record', 'no_end'],
    ] as const)('fails with bad_response on %s, after the text that came before', async (_what, kind) => {
      // A server is known to close its answers once it has closed one.
      await answered({ text: ['whole'] });
      gateway.answer({ text: ['a ', 'b ', 'c'], failure: { kind, after: 2 } });
      const { chunks, error } = await drain(stream());
      expect(joined(chunks, 'text')).toBe('a b ');
      expect(error).toMatchObject({ code: 'bad_response', retryable: true });
    });

    it('names an overflow, and keeps working after it (B-11)', async () => {
      const long = ask('word '.repeat(2_000), { contextWindow: 256 });
      const { error } = await drain(gateway.provider.streamChat(long, new AbortController().signal));
      expect(error).toMatchObject({ code: 'context_overflow', retryable: false });
      expect((await answered({ text: ['fits'] })).content).toBe('fits');
    });

    it('names an unknown model and the command that fetches it', async () => {
      const { error } = await drain(stream(undefined, { model: 'nobody-has-this' }));
      expect(error).toMatchObject({
        code: 'unknown_model',
        message: expect.stringContaining('nobody-has-this'),
      });
    });

    it('throws unavailable when no server listens', async () => {
      const nobody = gateway.providerAt('http://127.0.0.1:1');
      const { error } = await drain(nobody.streamChat(ask('hello'), new AbortController().signal));
      expect(error).toMatchObject({ code: 'unavailable', retryable: true });
    });

    it('sends nothing when the signal has already aborted', async () => {
      const { error } = await drain(stream(AbortSignal.abort()));
      expect(error).toMatchObject({ code: 'aborted' });
    });

    it('closes the request within a second when stopped in a silent prefill (N-60, N-63)', async () => {
      gateway.answer({ hold: true, text: ['never seen'] });
      const stop = new AbortController();
      const drained = drain(stream(stop.signal));
      const call = await gateway.nextCall();
      const at = performance.now();
      stop.abort();
      expect((await drained).error).toMatchObject({ code: 'aborted' });
      const closed = await call.closed;
      expect(closed.by).toBe('client');
      expect(closed.at - at).toBeLessThan(CLOSE_WITHIN_MS);
    });

    it('closes the request within a second when stopped mid-stream (N-58, N-63)', async () => {
      gateway.answer({ text: ['a', 'b'], failure: { kind: 'hang', after: 1 } });
      const stop = new AbortController();
      let at = 0;
      const seen: string[] = [];
      const reading = (async () => {
        for await (const chunk of stream(stop.signal)) {
          seen.push(chunk.type);
          at = performance.now();
          stop.abort();
        }
      })();
      await expect(reading).rejects.toMatchObject({ code: 'aborted' });
      expect(seen).toEqual(['text']);
      const closed = await (await gateway.nextCall()).closed;
      expect(closed.by).toBe('client');
      expect(closed.at - at).toBeLessThan(CLOSE_WITHIN_MS);
    });

    it('closes the request when the reader stops reading', async () => {
      gateway.answer({ text: ['a', 'b'], failure: { kind: 'hang', after: 1 } });
      for await (const chunk of stream()) {
        expect(chunk).toEqual({ type: 'text', delta: 'a' });
        break;
      }
      expect((await (await gateway.nextCall()).closed).by).toBe('client');
    });

    it('turns texts into vectors, one per text, in order', async () => {
      const input = Array.from({ length: 70 }, (_, index) => 'x'.repeat(index + 1));
      const { vectors, promptTokens } = await gateway.provider.embed(
        { model: gateway.model, input },
        never(),
      );
      expect(vectors.map(([length]) => length)).toEqual(input.map((text) => text.length));
      expect(promptTokens).toBeGreaterThan(70);
      const short = { model: gateway.model, input: ['a'], dimensions: 2 };
      expect((await gateway.provider.embed(short, never())).vectors).toEqual([[1, 0.1]]);
    });

    it('refuses a text that is too long for a vector instead of cutting it', async () => {
      const input = ['short', 'x'.repeat(9_000)];
      const failed = gateway.provider.embed({ model: gateway.model, input }, never());
      await expect(failed).rejects.toBeInstanceOf(ProviderError);
      const stopped = gateway.provider.embed({ model: gateway.model, input: ['a'] }, AbortSignal.abort());
      await expect(stopped).rejects.toMatchObject({ code: 'aborted' });
    });

    it('answers 1,000 small streams concurrently, each with its own text', async () => {
      const texts = Array.from({ length: 1_000 }, (_, index) => `answer ${index}`);
      for (const text of texts) gateway.answer({ text: [text] });
      const replies = await Promise.all(texts.map(() => collectChat(stream())));
      expect(replies.map((reply) => reply.content).toSorted()).toEqual(texts.toSorted());
    });

    it('throws only ProviderError, whatever bytes a stream contains', async () => {
      const noise = fc.uint8Array({ minLength: 1, maxLength: 200 });
      await fc.assert(
        fc.asyncProperty(noise, fc.nat({ max: 2 }), async (bytes, after) => {
          gateway.answer({ text: ['a', 'b'], failure: { kind: 'bytes', after, bytes } });
          const { error } = await drain(stream());
          expect(error === undefined || error instanceof ProviderError).toBe(true);
        }),
        { numRuns: 100 },
      );
    });

    it('throws only ProviderError, whatever answers on the socket', async () => {
      const head = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n';
      const noise = fc.tuple(fc.constantFrom('', 'HTTP/1.1 ', head), fc.uint8Array({ maxLength: 300 }));
      const raw = await startRawServer();
      const provider = gateway.providerAt(raw.url);
      const signal = new AbortController().signal;
      try {
        await fc.assert(
          fc.asyncProperty(noise, async ([start, bytes]) => {
            raw.reply = Buffer.concat([Buffer.from(start), bytes]);
            expect((await drain(provider.streamChat(ask('hello'), signal))).error).toBeInstanceOf(
              ProviderError,
            );
            await expect(provider.models(signal)).rejects.toBeInstanceOf(ProviderError);
          }),
          { numRuns: 60 },
        );
      } finally {
        await raw.close();
      }
    });
  });
}

function never(): AbortSignal {
  return new AbortController().signal;
}

/** Reads a stream to its end or its error. */
export async function drain(
  stream: AsyncIterable<ChatChunk>,
): Promise<{ chunks: ChatChunk[]; error: unknown }> {
  const chunks: ChatChunk[] = [];
  try {
    for await (const chunk of stream) chunks.push(chunk);
  } catch (error) {
    return { chunks, error };
  }
  return { chunks, error: undefined };
}

function joined(chunks: ChatChunk[], type: 'text' | 'thinking'): string {
  return chunks.map((chunk) => (chunk.type === type ? chunk.delta : '')).join('');
}

function cutAt(wire: Buffer, at: readonly number[]): Buffer[] {
  const marks = [0, ...at.map((mark) => mark % wire.length), wire.length].toSorted((a, b) => a - b);
  return marks
    .slice(1)
    .map((mark, index) => wire.subarray(marks[index], mark))
    .filter((part) => part.length > 0);
}
