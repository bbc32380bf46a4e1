/** Settings that follow their file: each change atomically, as a whole, or not at all. */
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { ConfigError } from '../../src/protocol/errors.ts';
import { partOf } from '../../src/protocol/settings.ts';
import { openSettings } from '../../src/live-config.ts';
import { createLiveSettings } from '../../src/settings/index.ts';
import { testLog } from '../fakes/agent/tool-context.ts';

let home = '';
let file = '';
let logged: string[] = [];
beforeEach(() => {
  home = mkdtempSync(path.join(tmpdir(), 'parley-live-'));
  file = path.join(home, 'settings.json');
  logged = [];
});
afterEach(() => rmSync(home, { recursive: true }));

interface Values {
  name: string;
  port: number;
}

/** Settings with two fields, of which `port` waits for a restart; the file system reports nothing on its own. */
function open(first: Values = { name: 'Polly', port: 1 }) {
  let tell = (): void => undefined;
  let closed = 0;
  const settings = createLiveSettings<Values>(
    first,
    {
      file,
      read(text) {
        if (text.startsWith('{')) return { values: { ...first, ...JSON.parse(text) } };
        return { errors: [`${file}:1:1: no`] };
      },
      join: (now, next) => ({ ...next, port: now.port }),
      changed: (a, b) => (['name', 'port'] as const).filter((field) => a[field] !== b[field]),
      waiting: (fields) => fields.filter((field) => field === 'port'),
    },
    {
      log: testLog(logged),
      watch: (changed) => {
        tell = changed;
        return { folders: () => undefined, close: () => void (closed += 1) };
      },
    },
  );
  /** Writes this content, and waits until the settings have checked the file. */
  const write = async (content: string): Promise<void> => {
    writeFileSync(file, content);
    tell();
    await settings.start();
  };
  return { settings, write, closed: () => closed };
}

describe('live settings', () => {
  it('take effect for everyone in the same tick', async () => {
    const { settings, write } = open();
    const seen: string[] = [];
    for (const who of ['a', 'b']) {
      settings.subscribe(async ({ name }) => {
        await Promise.resolve();
        seen.push(`${who} prepares ${name} under ${settings.current().name}`);
        return () => void seen.push(`${who} has ${settings.current().name}`);
      });
    }
    await write('{"name": "Jack"}');
    expect(seen).toEqual([
      'a prepares Jack under Polly',
      'b prepares Jack under Polly',
      'a has Jack',
      'b has Jack',
    ]);
  });

  it('stay unchanged for everyone when one refuses, and are retried', async () => {
    const { settings, write } = open();
    const applied: string[] = [];
    let refused = true;
    settings.subscribe(
      ({ name }) =>
        () =>
          void applied.push(name),
    );
    settings.subscribe(() => {
      if (refused) throw new ConfigError('bad_config', 'not yet');
      return () => undefined;
    });
    await write('{"name": "Jack"}');
    expect([settings.current().name, applied, settings.report().errors]).toEqual(['Polly', [], ['not yet']]);
    refused = false;
    await settings.start();
    expect([settings.current().name, applied, settings.report().errors]).toEqual(['Jack', ['Jack'], []]);
  });

  it('report an error once, however often they check, and again when it is a different one', async () => {
    const { settings, write } = open();
    await write('no');
    await settings.start();
    expect(logged.filter((line) => line.includes('settings_invalid'))).toHaveLength(1);
    writeFileSync(file, '{}');
    rmSync(file);
    await settings.start();
    expect(settings.report().errors).toEqual([`${file}: is gone`]);
    expect(logged.filter((line) => line.includes('settings_invalid'))).toHaveLength(2);
    await write('{}');
    expect(settings.report().errors).toEqual([]);
    expect(logged.join('')).toContain('settings_valid_again');
  });

  it('take effect ahead of a field that waits for a restart, which stays unchanged', async () => {
    const { settings, write } = open();
    await write('{"name": "Jack", "port": 2}');
    expect(settings.current()).toEqual({ name: 'Jack', port: 1 });
    expect(settings.report()).toEqual({ errors: [], needsRestart: ['port'] });
    await write('{"name": "Anne", "port": 2}');
    expect(logged.filter((line) => line.includes('settings_need_restart'))).toHaveLength(1);
    await write('{"name": "Anne", "port": 1}');
    expect(settings.report().needsRestart).toEqual([]);
  });

  it('are notified of every change by the file system, even when the file was replaced', async () => {
    // So long that only change events from the file system count.
    const settings = openSettings(loadConfig({ GATEWAY_HOME: home }), testLog(logged), 86_400_000);
    await settings.start();
    for (const persona of ['Polly', 'Jack', 'Anne']) {
      writeFileSync(path.join(home, 'new'), JSON.stringify({ persona }), { mode: 0o600 });
      renameSync(path.join(home, 'new'), path.join(home, 'config.json'));
      await vi.waitFor(() => expect(settings.current().persona).toBe(persona), { timeout: 10_000 });
    }
    await settings.stop();
  });

  it('need no file, and stop watching with the gateway', async () => {
    const { settings, closed } = open();
    await settings.start();
    expect(settings.report().errors).toEqual([]);
    await settings.stop();
    await settings.stop();
    expect(closed()).toBeGreaterThan(0);
  });

  it('return the same part for the same settings', async () => {
    const { settings, write } = open();
    const part = partOf(settings, ({ name }) => ({ name }));
    const first = part.current();
    expect(part.current()).toBe(first);
    await write('{"name": "Jack"}');
    expect(part.current()).toEqual({ name: 'Jack' });
    expect(first).toEqual({ name: 'Polly' });
  });
});

const id = fc.integer({ min: 1, max: 999_999_999 });
/** Any `config.json` that can be used. */
const validFile = fc.record(
  {
    persona: fc.string({ maxLength: 40 }),
    access: fc.record({
      telegram: fc.record(
        { dm: fc.constantFrom('pairing', 'allowlist', 'open'), allow: fc.array(id, { maxLength: 3 }) },
        { requiredKeys: [] },
      ),
    }),
    tools: fc.record(
      { exec: fc.boolean(), ports: fc.array(fc.integer({ min: 1, max: 65_535 }), { maxLength: 3 }) },
      { requiredKeys: [] },
    ),
    limits: fc.record({ messagesPerMinute: fc.integer({ min: 1, max: 6_000 }) }),
    approvals: fc.record({ expireMinutes: fc.integer({ min: 1, max: 1_440 }) }),
    schedules: fc.record({
      timeZone: fc.constantFrom('UTC', 'Europe/Berlin'),
      total: fc.integer({ min: 1, max: 99 }),
    }),
    turns: fc.record({ mode: fc.constantFrom('planner', 'teacher', 'agentic') }),
  },
  { requiredKeys: [] },
);

describe('config.json', () => {
  it('can change into any other valid one, and into nonsense, without an uncaught error', async () => {
    const place = path.join(home, 'config.json');
    const settings = openSettings(loadConfig({ GATEWAY_HOME: home }), testLog(logged));
    try {
      await fc.assert(
        fc.asyncProperty(validFile, fc.string(), async (values, nonsense) => {
          writeFileSync(place, JSON.stringify(values), { mode: 0o600 });
          await settings.start();
          expect(settings.report()).toEqual({ errors: [], needsRestart: [] });
          const now = settings.current();
          expect(now.persona).toBe(values.persona);
          expect(now.tools.exec).toBe(values.tools?.exec ?? false);
          expect(now.limits.messagesPerMinute).toBe(values.limits?.messagesPerMinute ?? 10);
          writeFileSync(place, `${nonsense}\u0000`, { mode: 0o600 });
          await settings.start();
          expect(settings.report().errors.length).toBeGreaterThan(0);
          expect(settings.current()).toBe(now);
        }),
        { numRuns: 40 },
      );
    } finally {
      await settings.stop();
    }
  });
});
