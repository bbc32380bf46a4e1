/** The packages that send traces: no part of an installation, named with their versions where they are missing. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import lockfile from '../../../package-lock.json' with { type: 'json' };
import project from '../../../package.json' with { type: 'json' };
import { telemetryFinding, telemetryInstall } from '../../../src/ops/telemetry/index.ts';
import { readText } from '../../docs/pages.ts';

const COMMAND = telemetryInstall(project.devDependencies);
const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };

/** Starts the export as an installation without the packages does. */
const SCRIPT = `
import { registerHooks } from 'node:module';
registerHooks({ resolve(name, context, next) {
  if (!name.startsWith('@opentelemetry/')) return next(name, context);
  throw Object.assign(new Error('no ' + name), { code: 'ERR_MODULE_NOT_FOUND' });
} });
const { default: project } = await import('./package.json', { with: { type: 'json' } });
const { startTelemetry } = await import('./src/ops/telemetry/index.ts');
const about = { version: '1', versions: project.devDependencies, serverOf: () => undefined };
const start = (env) => startTelemetry(env, about, {}).then(() => 'started', ({ code, message }) => code + ': ' + message);
console.log(JSON.stringify([await start({}), await start(${JSON.stringify(ENDPOINT)})]));
`;

it('are named, with the command that brings them, where an address is set and they are missing', async () => {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', SCRIPT], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [output] = await Promise.all([text(child.stdout), once(child, 'close')]);
  const [without, withAddress] = JSON.parse(output);
  expect(without).toBe('started');
  expect(withAddress).toBe(
    `not_installed: OTEL_EXPORTER_OTLP_ENDPOINT needs packages that were left out of this installation: "${COMMAND}" brings them`,
  );
});

it('are found missing by the doctor only where an address is set', () => {
  const find = (env: { OTEL_EXPORTER_OTLP_ENDPOINT?: string }, isThere: boolean) =>
    telemetryFinding(env, project.devDependencies, () => isThere);
  expect(find(ENDPOINT, false)).toMatchObject([{ level: 'error', remedy: COMMAND }]);
  expect(find(ENDPOINT, true)).toEqual([]);
  expect(find({}, false)).toEqual([]);
});

it('are installed by the same command in the documentation and in the image, in the versions of the lockfile', () => {
  for (const file of ['docs/monitoring.md', 'Dockerfile']) expect(readText(file)).toContain(COMMAND);
  const packages: Record<string, { version?: string }> = lockfile.packages;
  const named = COMMAND.split(' ').filter((word) => word.startsWith('@'));
  expect(named).toHaveLength(4);
  for (const word of named) {
    const at = word.lastIndexOf('@');
    const name = word.slice(0, at);
    expect(packages[`node_modules/${name}`]?.version).toBe(word.slice(at + 1));
    expect(Object.keys({ ...project.dependencies, ...project.optionalDependencies })).not.toContain(name);
  }
});
