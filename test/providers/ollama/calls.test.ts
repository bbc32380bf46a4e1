/** How calls share an Ollama: slots, turns, stopping while waiting, and connections. */
import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { collectChat } from '../../fakes/agent/collect-chat.ts';
import type { ChatRequest, LLMProvider } from '../../../src/protocol/agent/provider.ts';
import { MAX_WAITING_CALLS } from '../../../src/providers/server-calls.ts';
import { drain } from '../../contracts/model/provider.ts';
import { createPairs } from './setup.ts';
import { never, question } from '../request.ts';

const pairs = createPairs();
afterEach(() => pairs.closeAll());

const said = async (ollama: LLMProvider, request: ChatRequest): Promise<string> =>
  (await collectChat(ollama.streamChat(request, never))).content;

describe('calls to Ollama', () => {
  it('run concurrently up to the limit, and the rest wait', async () => {
    const { fake, ollama } = await pairs.start({ concurrency: 3 });
    fake.answer({ hold: true, text: 'late' }, { times: 12 });
    const all = Array.from({ length: 12 }, (_, index) => said(ollama, question(`${index}`)));
    for (let round = 0; round < 4; round += 1) {
      const running = await Promise.all([fake.nextCall(), fake.nextCall(), fake.nextCall()]);
      expect(fake.active).toBe(3);
      for (const call of running) call.release();
    }
    expect(new Set(await Promise.all(all))).toEqual(new Set(['late']));
    expect(fake.activePeak).toBe(3);
  });

  it('take turns by user, so that one with many waiting calls does not delay the others', async () => {
    const { fake, ollama } = await pairs.start({ concurrency: 1 });
    fake.answer({ hold: true });
    const ahead: number[] = [];
    const ask = (content: string, userId: string): Promise<string> =>
      said(ollama, question(content, { userId, onQueued: (count) => ahead.push(count) }));
    const all = [ask('first', 'a')];
    const running = await fake.nextCall();
    all.push(ask('a1', 'a'), ask('a2', 'a'), ask('a3', 'a'), ask('b1', 'b'));
    running.release();
    await Promise.all(all);
    const order = fake.calls.map((call) => call.body.messages[0]?.content);
    expect(order.slice(0, 3)).toContain('b1');
    expect(order.filter((content) => content?.startsWith('a'))).toEqual(['a1', 'a2', 'a3']);
    expect(ahead).toEqual([0, 1, 2, 3]);
  });

  it('are sent only after the caller was notified of its slot, and release the slot when that fails', async () => {
    const { fake, ollama } = await pairs.start({ concurrency: 1 });
    fake.answer({ hold: true, text: 'first' });
    const places: string[] = [];
    const ask = (content: string, onPlace: () => Promise<void>): Promise<string> =>
      said(ollama, question(content, { onPlace }));
    const all = [ask('first', async () => void places.push('first'))];
    const running = await fake.nextCall();
    const away = ask('second', () => Promise.reject(new Error('the database is unavailable')));
    all.push(ask('third', async () => void places.push(`third, ${fake.calls.length} before it`)));
    running.release();
    await expect(away).rejects.toThrow('the database is unavailable');
    await Promise.all(all);
    expect(places).toEqual(['third, 1 before it']);
  });

  it('can be stopped while they wait for a slot, and never reach the server (N-58)', async () => {
    const { fake, ollama } = await pairs.start({ concurrency: 1 });
    fake.answer({ hold: true, text: 'late' });
    const first = said(ollama, question('first'));
    const running = await fake.nextCall();
    const stop = new AbortController();
    const waiting = drain(ollama.streamChat(question('second'), stop.signal));
    stop.abort();
    expect((await waiting).error).toMatchObject({ code: 'aborted' });
    running.release();
    expect(await first).toBe('late');
    expect(await said(ollama, question('third'))).toBe('echo: third');
    expect(fake.calls).toHaveLength(2);
  });

  it('are closed within a second when stopped in the queue of the server itself (N-60)', async () => {
    const { fake, ollama } = await pairs.start({}, { parallel: 1 });
    fake.answer({ hold: true });
    const first = said(ollama, question('first'));
    const running = await fake.nextCall();
    const stop = new AbortController();
    const waiting = drain(ollama.streamChat(question('second'), stop.signal));
    const queued = await fake.nextCall();
    const at = performance.now();
    stop.abort();
    expect((await waiting).error).toMatchObject({ code: 'aborted' });
    const closed = await queued.closed;
    expect(closed.by).toBe('client');
    expect(closed.at - at).toBeLessThan(1_000);
    running.release();
    await first;
  });

  it('release their slot however they end', async () => {
    const { fake, ollama } = await pairs.start({ concurrency: 1 });
    for (const kind of ['cut', 'no_done'] as const) {
      fake.answer({ text: 'a b', failure: { kind, after: 1 } });
      await drain(ollama.streamChat(question('fails'), never));
    }
    fake.answer({ text: 'a b', failure: { kind: 'hang', after: 1 } });
    for await (const chunk of ollama.streamChat(question('left'), never)) {
      expect(chunk.type).toBe('text');
      break;
    }
    await drain(ollama.streamChat(question('hi', { model: 'gone' }), never));
    expect(await said(ollama, question('last'))).toBe('echo: last');
  });

  it('reuse kept connections', async () => {
    const { fake, ollama } = await pairs.start();
    for (let call = 0; call < 20; call += 1) await said(ollama, question('hi'));
    expect(fake.connections).toBeLessThanOrEqual(2);
  });

  it('stream 1,000 at once when the limit allows it', async () => {
    const { fake, ollama } = await pairs.start({ concurrency: 1_000 });
    for (let call = 0; call < 1_000; call += 1) fake.answer({ hold: true, text: 'a b c' });
    const all = Array.from({ length: 1_000 }, (_, index) => said(ollama, question(`${index}`)));
    const calls = await Promise.all(all.map(() => fake.nextCall()));
    expect(fake.active).toBe(1_000);
    for (const call of calls) call.release();
    expect(new Set(await Promise.all(all))).toEqual(new Set(['a b c']));
  });

  it('end with the done line, and a connection that does not end is abandoned', async () => {
    const { fake, ollama } = await pairs.start();
    fake.answer({ text: 'all of it', failure: { kind: 'linger' } });
    expect(await said(ollama, question('hi'))).toBe('all of it');
    const call = await fake.nextCall();
    expect(fake.active).toBe(1);
    expect((await call.closed).by).toBe('client');
  });

  it('slow the server down when the reader is slow, and lose nothing', async () => {
    const { fake, ollama } = await pairs.start();
    const text = Array.from({ length: 512 }, () => 'x'.repeat(64 * 1024));
    fake.answer({ text });
    let length = 0;
    let unsent = 0;
    for await (const chunk of ollama.streamChat(question('hi'), never)) {
      if (chunk.type !== 'text') continue;
      if (length === 0) await turns(3_000);
      unsent = Math.max(unsent, fake.calls[0]?.unsent() ?? 0);
      length += chunk.delta.length;
    }
    expect(unsent).toBeGreaterThan(1_000_000);
    expect(length).toBe(512 * 64 * 1024);
  });

  it('end as stopped when the provider is closed during a call', async () => {
    const { fake, ollama } = await pairs.start();
    fake.answer({ hold: true });
    const drained = drain(ollama.streamChat(question('hi'), never));
    const call = await fake.nextCall();
    await ollama.close();
    expect((await drained).error).toMatchObject({ code: 'aborted' });
    expect((await call.closed).by).toBe('client');
  });

  it('are refused with a clear error when too many wait', async () => {
    const { fake, ollama } = await pairs.start({ concurrency: 1 });
    fake.answer({ hold: true, text: 'late' });
    const first = said(ollama, question('first'));
    const running = await fake.nextCall();
    const stop = new AbortController();
    const waiting = Array.from({ length: MAX_WAITING_CALLS }, () =>
      drain(ollama.streamChat(question('waits'), stop.signal)),
    );
    const { error } = await drain(ollama.streamChat(question('one more'), never));
    expect(error).toMatchObject({ code: 'unavailable', retryable: true });
    expect(String(error)).toContain('providers.ollama.concurrency');
    stop.abort();
    const ends = await Promise.all(waiting);
    expect(ends.every((end) => String(end.error).includes('stopped'))).toBe(true);
    running.release();
    expect(await first).toBe('late');
  });
});

/** Lets the event loop turn, so that all pending work has run. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await setImmediate();
}
