/** Completions kept under their Idempotency-Key: the limits, and what ends them. */
import { expect, it } from 'vitest';
import { KEPT_MS, KeptCompletions, MAX_KEPT, MAX_KEPT_CHARS } from '../../../channels/http/repeats.ts';
import type { StatelessRequest } from '../../../src/protocol/gateway-api.ts';
import type { ChatChunk } from '../../../src/protocol/agent/provider.ts';

const caller = { tokenId: 't', scopes: ['chat' as const] };
const request: StatelessRequest = { messages: [], model: 'default' };
const never = new AbortController().signal;

function keep(chunks: (signal: AbortSignal) => AsyncIterable<ChatChunk>) {
  const clock = { ms: 0 };
  let calls = 0;
  const complete = (_caller: unknown, _request: unknown, signal: AbortSignal): AsyncIterable<ChatChunk> => {
    calls += 1;
    return chunks(signal);
  };
  const kept = new KeptCompletions(complete, () => clock.ms);
  const read = async (key: string | undefined, signal = never): Promise<string> => {
    let text = '';
    for await (const chunk of kept.complete(caller, key, request, signal).chunks) {
      if (chunk.type === 'text') text += chunk.delta;
    }
    return text;
  };
  return { kept, clock, read, calls: () => calls };
}

async function* saysHi(): AsyncGenerator<ChatChunk> {
  yield { type: 'text', delta: 'hi' };
}

it('keeps nothing without a key', async () => {
  const { kept, read, calls } = keep(saysHi);
  expect([await read(undefined), await read(undefined)]).toEqual(['hi', 'hi']);
  expect([calls(), kept.size]).toEqual([2, 0]);
});

it(`forgets an answer after ${KEPT_MS / 60_000} minutes`, async () => {
  const { clock, read, calls } = keep(saysHi);
  await read('k');
  clock.ms = KEPT_MS - 1;
  await read('k');
  expect(calls()).toBe(1);
  clock.ms = KEPT_MS;
  await read('k');
  expect(calls()).toBe(2);
});

it(`keeps at most ${MAX_KEPT} answers, the newest`, async () => {
  const { kept, read, calls } = keep(saysHi);
  for (let n = 0; n <= MAX_KEPT; n += 1) await read(`k${n}`);
  expect(kept.size).toBe(MAX_KEPT);
  await read('k1');
  expect(calls()).toBe(MAX_KEPT + 1);
  await read('k0');
  expect(calls()).toBe(MAX_KEPT + 2);
});

it(`keeps at most ${MAX_KEPT_CHARS} characters together`, async () => {
  const delta = 'x'.repeat(MAX_KEPT_CHARS / 2);
  const { kept, read } = keep(async function* () {
    yield { type: 'text', delta };
  });
  await read('a');
  await read('b');
  expect(kept.size).toBe(2);
  await read('c');
  expect(kept.size).toBe(2);
});

it('reports a failure to each reader, and does not keep it for later ones', async () => {
  let fail = true;
  const { read, calls } = keep(async function* () {
    await Promise.resolve();
    if (fail) throw new Error('broken');
    yield* saysHi();
  });
  const both = await Promise.allSettled([read('k'), read('k')]);
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(calls()).toBe(1);
  fail = false;
  expect(await read('k')).toBe('hi');
});

it('ends the model call when its last reader has left, and not before', async () => {
  const ended: boolean[] = [];
  const { read, calls } = keep(async function* (signal) {
    yield { type: 'text', delta: 'one' };
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    ended.push(true);
  });
  const [first, second] = [new AbortController(), new AbortController()];
  const reading = [read('k', first.signal), read('k', second.signal)];
  await new Promise((resolve) => setImmediate(resolve));
  first.abort(new Error('gone'));
  await expect(reading[0]).rejects.toThrow('gone');
  expect(ended).toEqual([]);
  second.abort(new Error('gone'));
  await expect(reading[1]).rejects.toThrow('gone');
  await new Promise((resolve) => setImmediate(resolve));
  expect([ended, calls()]).toEqual([[true], 1]);
});
