/** `parley status`: what it shows for several gateways, and for none. */
import { expect, it } from 'vitest';
import packageFile from '../../package.json' with { type: 'json' };
import { publishStatus, statusCommand } from '../../src/commands/status.ts';
import { PARLEY } from '../../src/protocol/texts/parley.ts';
import type { HealthReport } from '../../src/protocol/gateway-api.ts';
import { describeStore, silentLog, type TestStore } from '../database.ts';

const HOME = { home: '/srv/parley' };
const channels = (detail: string): HealthReport['channels'] => ({
  http: { state: 'up', label: 'HTTP' },
  telegram: { state: 'degraded', detail, label: 'Telegram' },
});

/** A running gateway: its lease, its version and what it reported. */
async function run(
  store: TestStore,
  instance: string,
  model: HealthReport['model'],
  detail = 'Telegram does not answer;\ntrying again.',
): Promise<void> {
  await store.lanes.register(instance, 60_000);
  await store.nodes.saveNodeSettings(instance, { version: '0.1.0', digests: {} });
  const told = { url: `http://127.0.0.1/${instance}`, model, channels: channels(detail) };
  await store.nodes.saveNodeStatus(instance, told);
}

describeStore('parley status', (databases) => {
  it('shows version, lease, page, model and channels of every gateway', async () => {
    const store = await databases.open();
    await run(store, 'desk', { state: 'up', name: 'qwen3:4b' });
    const detail = 'MODEL: run ollama pull big:70b. The model big:70b is missing; qwen3:4b answers instead.';
    await run(store, 'shelf', { state: 'degraded', name: 'big:70b', detail }, 'The token\u001b is refused.');
    const { text, isRunning } = await statusCommand([])(store, HOME);
    expect(isRunning).toBe(true);
    expect(text).toContain(
      `gateways      2 running\nversion       ${packageFile.version}\nhome          /srv/parley\n`,
    );
    expect(text).toMatch(/node {10}desk, version 0\.1\.0, renews its lease within (59|60) s\n/);
    expect(text).toContain('  page        http://127.0.0.1/desk\n  model       qwen3:4b\n');
    expect(text).toContain(
      '  channels    http up\n              telegram degraded: Telegram does not answer; trying again.',
    );
    expect(text).toContain(`  model       big:70b: ${detail}`);
    expect(text).not.toContain('\u001b');
  });

  it('reports that none runs once the leases have ended, as text and as JSON', async () => {
    const store = await databases.open();
    await run(store, 'desk', { state: 'down', detail: 'No model server answers.' });
    expect((await statusCommand([])(store, HOME)).text).toContain(
      'model       none answers: No model server',
    );
    await store.sql`update node set lease_until = now()`;
    const { text, isRunning } = await statusCommand([])(store, HOME);
    expect(text).toContain(
      `gateways      none is running with this home and database; ${PARLEY} start runs one`,
    );
    expect(isRunning).toBe(false);
    const json = JSON.parse((await statusCommand(['--json'])(store, HOME)).text) as unknown;
    expect(json).toMatchObject({
      home: '/srv/parley',
      pending: 0,
      deadLetters: { count: 0, newest: [] },
      nodes: [],
    });
  });

  it('outputs the same as JSON, and shows a gateway that has not reported anything yet', async () => {
    const store = await databases.open();
    await store.lanes.register('new', 60_000);
    expect((await statusCommand([])(store, HOME)).text).toContain('page        not yet: it is starting');
    await run(store, 'new', { state: 'up', name: 'qwen3:4b' });
    const json = JSON.parse((await statusCommand(['--json'])(store, HOME)).text) as unknown;
    const status = {
      url: 'http://127.0.0.1/new',
      model: { name: 'qwen3:4b' },
      channels: { http: { state: 'up' } },
    };
    expect(json).toMatchObject({ nodes: [{ instance: 'new', version: '0.1.0', status }] });
  });

  it('includes what a gateway reports about itself, initially without a model that is still being queried', async () => {
    const store = await databases.open();
    const { nodes, lanes } = store;
    await lanes.register('desk', 60_000);
    const asked = Promise.withResolvers<{ model: HealthReport['model'] }>();
    const events = () => ({ state: 'degraded' }) as const;
    const health = { report: () => asked.promise, channels: () => channels('away'), events };
    const ending = new AbortController();
    const node = { nodes, instance: 'desk' };
    const backups = { state: () => undefined };
    const publishing = publishStatus(node, 'http://x', health, backups, () => [], silentLog, ending.signal);
    const told = async () => (await nodes.liveNodes())[0]?.status;
    await expect.poll(told).toEqual({ url: 'http://x', channels: channels('away'), events: events() });
    const shown = await statusCommand([])(store, HOME);
    expect(shown.text).toContain(`  events      of other gateways may arrive late; see ${PARLEY} doctor`);
    asked.resolve({ model: { state: 'up', name: 'qwen3:4b' } });
    await expect.poll(told, { timeout: 20_000 }).toMatchObject({ model: { name: 'qwen3:4b' } });
    ending.abort();
    await publishing;
  });

  it('refuses other arguments', () => {
    for (const args of [['now'], ['--json', 'x']])
      expect(() => statusCommand(args)).toThrow(expect.objectContaining({ code: 'usage' }));
  });
});
