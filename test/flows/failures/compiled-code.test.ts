/** A start compiles 15 MB of JavaScript, unless an earlier one has left it: half of its processor time. */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import { type Scenario, startScenario } from '../../crash/scenario.ts';
import { WAIT } from '../setup.ts';

/** Files of compiled code: of the gateway itself there are several hundred. */
const MANY = 300;

let scenario: Scenario | undefined;
afterEach(() => scenario?.close());

it('leaves its compiled code for the next start while it runs, as a process that is killed leaves nothing at its end', async () => {
  const cache = await mkdtemp(path.join(tmpdir(), 'parley-compiled-'));
  onTestFinished(() => rm(cache, { recursive: true, force: true }));
  const run = (scenario = await startScenario({ environment: { NODE_COMPILE_CACHE: cache } }));
  const [gateway] = run.gateways;
  gateway!.start();
  await gateway!.url();
  await vi.waitFor(async () => {
    const files = await readdir(cache, { recursive: true });
    expect(files.length).toBeGreaterThan(MANY);
  }, WAIT);
  expect(gateway!.running).toBe(true);
});
