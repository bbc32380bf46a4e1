/** The watchdog of a model stream: stop, silence, and that the connection is always closed. */
import { expect, it } from 'vitest';
import { LaneAbort } from '../../../src/protocol/bus.ts';
import type { ChatChunk, ChatRequest } from '../../../src/protocol/agent/provider.ts';
import { StreamWatchdog } from '../../../src/agent/model/stream-watchdog.ts';
import { fallsSilent, says, ScriptedProvider } from '../../fakes/agent/scripted-provider.ts';

const REQUEST: ChatRequest = { model: 'm', messages: [], contextWindow: 1_024 };
const PATIENT = { firstChunkMs: 60_000, queuedMs: 60_000, chunkMs: 60_000 };

/** Reads a stream the way callers of a model do, up to `maxChunks`. */
async function readStream(
  open: (signal: AbortSignal, watchdog: StreamWatchdog) => AsyncIterable<ChatChunk>,
  signal: AbortSignal,
  limits = PATIENT,
  maxChunks = Infinity,
): Promise<{ text: string; error: unknown }> {
  const watchdog = new StreamWatchdog(signal, limits);
  let text = '';
  let chunks = 0;
  const reading = watchdog.guard(async (closed) => {
    for await (const chunk of open(closed, watchdog)) {
      watchdog.onChunk();
      if (chunk.type === 'text') text += chunk.delta;
      chunks += 1;
      if (chunks === maxChunks) break;
    }
  });
  const error: unknown = await reading.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return { text, error };
}

const read = (provider: ScriptedProvider, signal: AbortSignal, limits = PATIENT, maxChunks = Infinity) =>
  readStream((closed) => provider.streamChat(REQUEST, closed), signal, limits, maxChunks);

it('does not interfere with a stream that keeps flowing', async () => {
  const provider = new ScriptedProvider(says('a', 'b', 'c'));
  expect(await read(provider, new AbortController().signal)).toEqual({ text: 'abc', error: undefined });
  expect(provider.hungUp).toBe(0);
});

it('stops a silent prefill immediately (N-58, N-60)', async () => {
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

it('keeps the text from before a stop', async () => {
  const provider = new ScriptedProvider(fallsSilent('so far'));
  const turn = new AbortController();
  const reading = read(provider, turn.signal);
  await provider.silence();
  turn.abort(new LaneAbort('stopped'));
  expect((await reading).text).toBe('so far');
});

it('does not open a call for a turn that is already over', async () => {
  const provider = new ScriptedProvider();
  const { error } = await read(provider, AbortSignal.abort(new LaneAbort('stopped')));
  expect(error).toBeInstanceOf(LaneAbort);
  expect(provider.requests).toEqual([]);
});

it('ends a call whose first chunk does not arrive in time, and closes the connection (N-61, N-63)', async () => {
  const provider = new ScriptedProvider(fallsSilent());
  const { error } = await read(provider, new AbortController().signal, {
    firstChunkMs: 40,
    chunkMs: 10,
    queuedMs: 60_000,
  });
  expect(error).toMatchObject({ code: 'timeout_first_chunk', retryable: true });
  expect(provider.hungUp).toBe(1);
});

it('gives a queued call more time before its first chunk, and measures its run time from that chunk', async () => {
  const watchdogs: StreamWatchdog[] = [];
  let opened = 0;
  const queued = async function* (_closed: AbortSignal, watchdog: StreamWatchdog): AsyncGenerator<ChatChunk> {
    watchdogs.push(watchdog);
    opened = watchdog.startedAt;
    watchdog.onQueued();
    await new Promise((resolve) => setTimeout(resolve, 60));
    yield { type: 'text', delta: 'at last' };
  };
  const limits = { firstChunkMs: 10, chunkMs: 60_000, queuedMs: 60_000 };
  const result = await readStream(queued, new AbortController().signal, limits);
  expect(result).toEqual({ text: 'at last', error: undefined });
  expect((watchdogs[0]?.startedAt ?? 0) - opened).toBeGreaterThan(50);
});

it('ends a call that falls silent after its first chunk, and closes the connection (N-62, N-63)', async () => {
  const provider = new ScriptedProvider(fallsSilent('one'));
  const limits = { ...PATIENT, chunkMs: 30 };
  const { text, error } = await read(provider, new AbortController().signal, limits);
  expect(text).toBe('one');
  expect(error).toMatchObject({ code: 'timeout_chunk' });
  expect(provider.hungUp).toBe(1);
});

it('lets a stream run longer than any limit while chunks keep arriving (N-62)', async () => {
  const pieces = Array.from({ length: 60 }, () => 'x');
  const slow = async function* (): AsyncGenerator<ChatChunk> {
    for (const delta of pieces) {
      await new Promise((resolve) => setTimeout(resolve, 3));
      yield { type: 'text', delta };
    }
  };
  const limits = { ...PATIENT, firstChunkMs: 100, chunkMs: 100 };
  const result = await readStream(slow, new AbortController().signal, limits);
  expect(result).toEqual({ text: pieces.join(''), error: undefined });
});

it('reports a stop even when the provider ends its stream without an error', async () => {
  const turn = new AbortController();
  const quiet = async function* (connection: AbortSignal): AsyncGenerator<ChatChunk> {
    yield { type: 'text', delta: 'so far' };
    turn.abort(new LaneAbort('stopped'));
    expect(connection.aborted).toBe(true);
  };
  const { text, error } = await readStream(quiet, turn.signal);
  expect(text).toBe('so far');
  expect(error).toMatchObject({ code: 'stopped' });
});

it('closes the connection when the reader stops reading', async () => {
  const provider = new ScriptedProvider(fallsSilent('a', 'b'));
  const { text, error } = await read(provider, new AbortController().signal, PATIENT, 1);
  expect([text, error]).toEqual(['a', undefined]);
  expect(provider.hungUp).toBe(1);
});

it('aborts the signal of the connection when it is closed', () => {
  const watchdog = new StreamWatchdog(new AbortController().signal, PATIENT);
  const connection = watchdog.start();
  expect(connection.aborted).toBe(false);
  watchdog.close();
  expect(connection.reason).toMatchObject({ code: 'aborted' });
});
