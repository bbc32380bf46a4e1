/** How the tests run: node 24 on the sources as written, a report for `npm run` tools to read. */
import { fileURLToPath } from 'node:url';
import { configDefaults, defineConfig } from 'vitest/config';
import { runsAll } from './campaign.ts';
import { existingTests, leftOut, LongestFirst } from './runs/order.ts';

/**
 * Files that need a process of their own, because they replace a module, change the environment of the process, bound the
 * time of one step (which depends on what the process has compiled before), or fake the timers, which undici's clock
 * from an earlier file would keep using.
 */
const ALONE = existingTests([
  'store/embedded/embedded.test.ts',
  'tools/exec/exec.test.ts',
  'tools/exec/bounds.test.ts',
  'tools/exec/sandbox-group.test.ts',
  'tools/exec/shut-in.test.ts',
  'security/egress.test.ts',
  'delivery/text/cut.test.ts',
  'bus/last-events.test.ts',
  'bus/nodes.test.ts',
  'bus/message-bus.test.ts',
  'bus/stop.test.ts',
  'bus/driver-model.test.ts',
  'providers/ollama/silence.test.ts',
]);

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    reporters: ['default', 'json', './test/runs/skip-summary.ts'],
    outputFile: { json: process.env['TEST_REPORT'] ?? 'test/.tmp/report.json' },
    pool: 'forks',
    // Three more than the cores of a small machine, because many tests wait for processes, platforms and browsers. With six, tests
    // that race two processes were unsteady, and the run was no faster.
    maxWorkers: 5,
    // Tests that run in parallel within a file wait for paced platforms and models, not for the processor.
    maxConcurrency: 12,
    // A campaign in full takes as long as the machine needs.
    testTimeout: runsAll ? 600_000 : 60_000,
    hookTimeout: 60_000,
    sequence: { sequencer: LongestFirst },
    globalSetup: ['test/runs/folder.ts', 'test/runs/server.ts'],
    setupFiles: ['test/runs/bounded-properties.ts'],
    projects: [
      {
        extends: true,
        test: {
          name: 'shared',
          include: ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...ALONE, ...leftOut()],
          // The files of a worker share its process: loading the modules and starting a database is most of a small file's time.
          isolate: false,
        },
      },
      { extends: true, test: { name: 'alone', include: ALONE } },
    ],
  },
});
