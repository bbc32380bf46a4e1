/**
 * `npm run test:slow`: every test, with all processors kept busy beside them, so that a test that depends on the speed of
 * its machine fails here first. Takes two to three times as long as the nightly run.
 */
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';

const loops = Array.from({ length: availableParallelism() }, () =>
  spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
);
const tests = spawn('npm', ['test', '--', ...process.argv.slice(2)], {
  stdio: 'inherit',
  env: { ...process.env, NIGHTLY: 'true' },
});
const stop = (): void => loops.forEach((loop) => loop.kill('SIGKILL'));
process.once('exit', stop);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => tests.kill(signal));
tests.once('close', (code) => {
  process.exitCode = code ?? 1;
  stop();
});
