/** `/stop` against real gateway processes: measured until the model server sees its connection close. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { heldLanes, pendingCount } from '../../crash/rows.ts';
import { answers, say, stop } from '../../crash/chat-actions.ts';
import { type Scenario, type ScenarioOptions, startScenario } from '../../crash/scenario.ts';
import { serverUrl } from '../../database.ts';
import type { FakeCall } from '../../fakes/ollama/ollama.ts';

const SERVER = serverUrl();
const LONG = { timeout: 20_000, interval: 50 };

const scenarios: Scenario[] = [];

afterEach(async () => {
  for (const scenario of scenarios.splice(0)) await scenario.close();
});

/** A scenario whose gateways are listening; returns their addresses. */
async function startGateways(options: ScenarioOptions): Promise<{ scenario: Scenario; urls: string[] }> {
  const scenario = await startScenario(options);
  scenarios.push(scenario);
  const urls: string[] = [];
  for (const gateway of scenario.gateways) {
    gateway.start();
    urls.push(await gateway.url());
  }
  return { scenario, urls };
}

/** Stops a session through `url`; returns the milliseconds until the other side closed the model's connection. */
async function stopAndMeasure(
  url: string,
  session: string,
  call: FakeCall,
): Promise<{ cancelled: number; ms: number; answered: number }> {
  const asked = performance.now();
  const { stopped, cancelled } = await stop(url, session);
  const answered = performance.now() - asked;
  expect(stopped).toBe(true);
  const { by, at } = await call.closed;
  expect(by).toBe('client');
  return { cancelled, ms: at - asked, answered };
}

function tell(what: string, { ms, answered }: { ms: number; answered: number }): void {
  const times = `closed after ${Math.round(ms)} ms (the stop was answered after ${Math.round(answered)} ms)`;
  process.stderr.write(`stop, ${what}: the model's connection ${times}\n`);
}

describe('/stop', () => {
  it('ends prefill, a stream and a queue of 100 within a second, and nothing from the queue runs (N-58)', async () => {
    const { scenario, urls } = await startGateways({ postgresUrl: SERVER });
    const [url = ''] = urls;

    scenario.ollama.answer({ hold: true, text: 'never' }, { when: 'silence' });
    await say(url, 'prefill', 'silence');
    const prefill = await stopAndMeasure(url, 'prefill', await scenario.ollama.nextCall());
    tell('prefill', prefill);

    scenario.ollama.answer({ text: 'a b c d', failure: { kind: 'hang', after: 2 } }, { when: 'tokens' });
    await say(url, 'stream', 'tokens');
    const call = await scenario.ollama.nextCall();
    await vi.waitFor(() => expect(scenario.ollama.active).toBe(1), LONG);
    const stream = await stopAndMeasure(url, 'stream', call);
    tell('mid-stream', stream);

    scenario.ollama.answer({ hold: true, text: 'never' }, { when: 'first' });
    await say(url, 'queue', 'first');
    const head = await scenario.ollama.nextCall();
    for (let at = 0; at < 100; at += 1) await say(url, 'queue', `queued ${at}`);
    const before = scenario.ollama.calls.length;
    const queue = await stopAndMeasure(url, 'queue', head);
    tell('100 queued', queue);

    await say(url, 'queue', 'after the stop');
    await vi.waitFor(
      // The stopped question was not answered: the model reads both in one message.
      async () => expect(await answers(url, 'queue')).toContain('echo: first\n\nafter the stop'),
      LONG,
    );
    await vi.waitFor(async () => expect(await scenario.read(pendingCount)).toBe(0), LONG);
    expect([prefill.cancelled, stream.cancelled, queue.cancelled]).toEqual([0, 0, 100]);
    expect(scenario.ollama.calls.length, 'only the message after the stop reached the model').toBe(
      before + 1,
    );
    for (const { ms } of [prefill, stream, queue]) expect(ms).toBeLessThanOrEqual(1_000);
  }, 90_000);
});

describe('/stop with two gateways on one Postgres', () => {
  it('works within a second through the node that does not run the turn', async () => {
    const { scenario, urls } = await startGateways({ postgresUrl: SERVER, gateways: 2 });
    const instances = await Promise.all(scenario.gateways.map((gateway) => scenario.instance(gateway)));
    for (const session of ['one', 'two']) {
      scenario.ollama.answer({ text: 'a b c d', failure: { kind: 'hang', after: 2 } }, { when: session });
      await say(urls[0] ?? '', session, session);
      const call = await scenario.ollama.nextCall();
      const held = await Promise.all(
        instances.map((instance) => scenario.read((sql) => heldLanes(sql, instance))),
      );
      expect(held.filter((lanes) => lanes === 1)).toHaveLength(1);
      const stopped = await stopAndMeasure(urls[held.indexOf(0)] ?? '', session, call);
      tell('from the other node', stopped);
      expect(stopped.ms).toBeLessThanOrEqual(1_000);
      await vi.waitFor(async () => expect(await scenario.read(pendingCount)).toBe(0), LONG);
    }
  }, 90_000);
});
