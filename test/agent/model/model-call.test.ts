/** One streaming call: the order of its events, and that they add up to the answer. */
import { expect, it } from 'vitest';
import { MAX_ANSWER_CHARS, MAX_CALLS_KEPT } from '../../../src/agent/deps.ts';
import { type ModelCall, streamAnswer } from '../../../src/agent/model/model-call.ts';
import { Reply } from '../../../src/agent/turn/reply.ts';
import { ProviderError } from '../../../src/protocol/errors.ts';
import { sayFrom } from '../../../src/protocol/texts/say.ts';
import GERMAN from '../../../src/settings/languages/de.json' with { type: 'json' };
import type { EventBody } from '../../../src/protocol/event.ts';
import { collectChat } from '../../fakes/agent/collect-chat.ts';
import type { ChatChunk, ChatRequest, LLMResponse } from '../../../src/protocol/agent/provider.ts';
import {
  asks,
  fails,
  says,
  SCRIPT_USAGE,
  ScriptedProvider,
  type ScriptStep,
} from '../../fakes/agent/scripted-provider.ts';

const REQUEST: ChatRequest = { model: 'm', messages: [], contextWindow: 1_024 };
const thinks = (...deltas: string[]): ChatChunk[] => deltas.map((delta) => ({ type: 'thinking', delta }));

const PROMPT_TOKENS = 12;

function callOf(step: ScriptStep, reply = new Reply()): ModelCall {
  return {
    provider: new ScriptedProvider(step),
    msgId: 'm1',
    reply,
    limits: { firstChunkMs: 60_000, slowMs: 60_000, queuedMs: 60_000, chunkMs: 60_000 },
    signal: new AbortController().signal,
    begun: false,
  };
}

async function play(
  step: ScriptStep,
  reply?: Reply,
): Promise<{ events: EventBody[]; answer?: LLMResponse; error?: unknown }> {
  const events: EventBody[] = [];
  try {
    const answer = await streamAnswer(
      callOf(step, reply),
      REQUEST,
      PROMPT_TOKENS,
      (event) => void events.push(event),
    );
    return { events, answer };
  } catch (error) {
    return { events, error };
  }
}

it('streams thinking once and before the text, then the text as it arrives (N-48, N-49, B-42)', async () => {
  const step = { chunks: [...thinks('let ', 'me'), ...says('Hel', 'lo').chunks] };
  const { events, answer } = await play(step);
  expect(events).toEqual([
    { type: 'stream_start', msgId: 'm1' },
    { type: 'thinking_started', msgId: 'm1' },
    { type: 'thinking_delta', msgId: 'm1', delta: 'let ' },
    { type: 'thinking_delta', msgId: 'm1', delta: 'me' },
    { type: 'thinking_finished', msgId: 'm1' },
    { type: 'stream_chunk', msgId: 'm1', delta: 'Hel' },
    { type: 'stream_chunk', msgId: 'm1', delta: 'lo' },
  ]);
  expect(answer).toEqual(
    await collectChat(new ScriptedProvider(step).streamChat(REQUEST, AbortSignal.any([]))),
  );
});

it('emits a notice with the number of calls ahead while it waits in the queue', async () => {
  const place = Promise.withResolvers<void>();
  const noticed = Promise.withResolvers<void>();
  const events: EventBody[] = [];
  const call = callOf({ ...says('Now.'), ahead: 3, before: () => place.promise });
  const answer = streamAnswer(call, REQUEST, PROMPT_TOKENS, (event) => {
    events.push(event);
    if (event.type === 'notice') noticed.resolve();
  });
  await noticed.promise;
  expect(events).toEqual([
    { type: 'stream_start', msgId: 'm1' },
    { type: 'notice', code: 'model_busy', text: expect.stringContaining('3 answers') },
  ]);
  place.resolve();
  await answer;
  expect(events.slice(2)).toEqual([{ type: 'stream_chunk', msgId: 'm1', delta: 'Now.' }]);
});

it('says that it waits in the language of the person who is answered', async () => {
  const call = callOf({ ...says('Jetzt.'), ahead: 0 });
  const events: EventBody[] = [];
  const german: ModelCall = { ...call, say: sayFrom('de', GERMAN) };
  await streamAnswer(german, REQUEST, PROMPT_TOKENS, (event) => void events.push(event));
  expect(events).toContainEqual({ type: 'notice', code: 'model_busy', text: GERMAN['turn.busy_next'] });
});

it('finds tool calls in any chunk, not just the last (N-50)', async () => {
  const early = asks([{ name: 'probe', args: { a: 1 } }]);
  const { answer } = await play({ chunks: [...early.chunks, ...says('and words').chunks] });
  expect(answer).toMatchObject({ content: 'and words', finishReason: 'tool_calls', usage: SCRIPT_USAGE });
  expect(answer?.toolCalls).toEqual([{ id: 'call_0', name: 'probe', args: { a: 1 } }]);
});

it('starts the text of a later call of a turn with a paragraph, in the delta itself', async () => {
  const reply = new Reply();
  reply.addCall('Before.');
  const { events } = await play(says('Af', 'ter.'), reply);
  const shown = events.flatMap((event) => (event.type === 'stream_chunk' ? [event.delta] : []));
  expect(shown).toEqual(['\n\nAf', 'ter.']);
  expect(reply.text).toBe('Before.\n\nAfter.');
  expect(reply.callText).toBe('After.');
});

it('ends the thinking when the stream breaks, and keeps the text so far', async () => {
  const broken = new ProviderError('bad_response', 'cut');
  const reply = new Reply();
  const { events, error } = await play({ chunks: thinks('hm'), ending: broken }, reply);
  expect(error).toBe(broken);
  expect(events.at(-1)).toEqual({ type: 'thinking_finished', msgId: 'm1' });
  await play(fails(broken, 'part'), reply);
  expect(reply.text).toBe('part');
});

it('replaces characters that platforms or databases refuse, in each delta', async () => {
  const { answer } = await play({ chunks: [...thinks('a\0'), ...says('b\0', '\udc00').chunks] });
  expect(answer).toMatchObject({ content: 'b\u2400\ufffd', thinking: 'a\u2400' });
});

it('cuts off an endless answer, and keeps a limited number of tool calls', async () => {
  const piece = 'x'.repeat(MAX_ANSWER_CHARS / 4);
  const lengths = async (...pieces: string[]): Promise<unknown[]> => {
    const { answer } = await play(says(...pieces));
    return [answer?.finishReason, answer?.content.length];
  };
  expect(await lengths(piece, piece, piece, piece)).toEqual(['stop', MAX_ANSWER_CHARS]);
  expect(await lengths(piece, piece, piece, piece, 'y', 'never read')).toEqual([
    'length',
    MAX_ANSWER_CHARS + 1,
  ]);
  const many = asks(Array.from({ length: MAX_CALLS_KEPT + 1 }, () => ({ name: 'probe', args: {} })));
  expect((await play(many)).answer?.toolCalls).toHaveLength(MAX_CALLS_KEPT);
});

it('discards the text of an open call, and nothing else', () => {
  const reply = new Reply();
  reply.addCall('kept');
  reply.openCall();
  reply.addText('void');
  reply.discardCall();
  expect(reply.text).toBe('kept');
  reply.openCall();
  expect(reply.addText('again')).toBe('\n\nagain');
  expect(reply.closeCall()).toBe('\n\nagain');
  expect(reply.text).toBe('kept\n\nagain');
});
