/** The guard over a model's stream: stop, silence, and that the connection is always closed. */
import { expect, it } from 'vitest';
import { LaneAbort } from '../../../src/contracts/bus.ts';
import type { ChatChunk, ChatRequest } from '../../../src/contracts/provider.ts';
import { guardStream } from '../../../src/agent/model/stream-guard.ts';
import { fallsSilent, says, ScriptedProvider } from '../../fakes/agent/scripted-provider.ts';

const REQUEST: ChatRequest = { model: 'm', messages: [], contextWindow: 1_024 };
const PATIENT = { firstChunkMs: 60_000, queuedMs: 60_000, chunkMs: 60_000 };

async function read(
  provider: ScriptedProvider,
  signal: AbortSignal,
  limits = PATIENT,
): Promise<{ words: string; error: unknown }> {
  let words = '';
  try {
    const open = (connection: AbortSignal): AsyncIterable<ChatChunk> =>
      provider.streamChat(REQUEST, connection);
    for await (const chunk of guardStream(open, signal, limits))
      if (chunk.type === 'text') words += chunk.delta;
    return { words, error: undefined };
  } catch (error) {
    return { words, error };
  }
}

it('passes a stream on whole', async () => {
  const provider = new ScriptedProvider(says('a', 'b', 'c'));
  expect(await read(provider, new AbortController().signal)).toEqual({ words: 'abc', error: undefined });
  expect(provider.hungUp).toBe(0);
});

it('stops a silent prefill at once (N-58, N-60)', async () => {
  const provider = new ScriptedProvider(fallsSilent());
  const turn = new AbortController();
  const reading = read(provider, turn.signal);
  await provider.silence();
  const began = performance.now();
  turn.abort(new LaneAbort('stopped'));
  await reading;
  expect(performance.now() - began).toBeLessThan(1_000);
  expect(provider.hungUp).toBe(1);
});

it('keeps what was said before a stop', async () => {
  const provider = new ScriptedProvider(fallsSilent('so far'));
  const turn = new AbortController();
  const reading = read(provider, turn.signal);
  await provider.silence();
  turn.abort(new LaneAbort('stopped'));
  expect((await reading).words).toBe('so far');
});

it('does not open a call for a turn that is over already', async () => {
  const provider = new ScriptedProvider();
  const { error } = await read(provider, AbortSignal.abort(new LaneAbort('stopped')));
  expect(error).toBeInstanceOf(LaneAbort);
  expect(provider.requests).toEqual([]);
});

it('ends a call whose first chunk does not come in time and hangs up (N-61, N-63)', async () => {
  const provider = new ScriptedProvider(fallsSilent());
  const { error } = await read(provider, new AbortController().signal, {
    firstChunkMs: 40,
    chunkMs: 10,
    queuedMs: 60_000,
  });
  expect(error).toMatchObject({ code: 'timeout_first_chunk', retryable: true });
  expect(provider.hungUp).toBe(1);
});

it('is patient with a call that waits for a place at the model', async () => {
  const waits = async function* (_signal: AbortSignal, queued: () => void): AsyncGenerator<string> {
    queued();
    await new Promise((resolve) => setTimeout(resolve, 60));
    yield 'at last';
  };
  const limits = { firstChunkMs: 10, chunkMs: 60_000, queuedMs: 60_000 };
  const read = guardStream(waits, new AbortController().signal, limits);
  expect(await read.next()).toEqual({ done: false, value: 'at last' });
  await read.return();
});

it('ends a call that falls silent after its first chunk (N-62, N-63)', async () => {
  const provider = new ScriptedProvider(fallsSilent('one'));
  const limits = { ...PATIENT, chunkMs: 30 };
  const { words, error } = await read(provider, new AbortController().signal, limits);
  expect(words).toBe('one');
  expect(error).toMatchObject({ code: 'timeout_chunk' });
  expect(provider.hungUp).toBe(1);
});

it('lets a stream run for longer than any limit while chunks keep coming (N-62)', async () => {
  const pieces = Array.from({ length: 60 }, () => 'x');
  const slow = async function* (): AsyncGenerator<string> {
    for (const piece of pieces) {
      await new Promise((resolve) => setTimeout(resolve, 3));
      yield piece;
    }
  };
  let read = '';
  const limits = { ...PATIENT, firstChunkMs: 100, chunkMs: 100 };
  for await (const piece of guardStream(slow, new AbortController().signal, limits)) read += piece;
  expect(read).toBe(pieces.join(''));
});

it('hangs up when the reader stops reading', async () => {
  const provider = new ScriptedProvider(fallsSilent('a', 'b'));
  const open = (connection: AbortSignal): AsyncIterable<ChatChunk> =>
    provider.streamChat(REQUEST, connection);
  for await (const chunk of guardStream(open, new AbortController().signal, PATIENT)) {
    expect(chunk).toEqual({ type: 'text', delta: 'a' });
    break;
  }
  expect(provider.hungUp).toBe(1);
});
