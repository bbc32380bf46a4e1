/** How the clients are run: by the gateway's own test runner, with the packages of this folder. */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    include: ['test/clients/*.test.mjs'],
    reporters: ['default', 'json'],
    outputFile: { json: process.env['TEST_REPORT'] ?? 'test/.tmp/clients.json' },
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
