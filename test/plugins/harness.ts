/** Plug-ins for tests: a folder written for one test, and its process over the real proxy. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { readManifest } from '../../src/plugins/manifest.ts';
import { type PluginParts, PluginProcess } from '../../src/plugins/plugin-process.ts';
import { createLog, redactor } from '../../src/ops/log.ts';
import { openEgressProxy } from '../../src/security/egress-proxy.ts';

/** Fields of a manifest that tests need not repeat. */
export const MANIFEST = {
  contract: 1,
  name: 'toy',
  version: '1.0.0',
  label: 'Toy',
  main: 'main.js',
} as const;
/** A secret that no log, error or health may show. */
export const TOY_SECRET = 'the-secret-of-the-toy-0123456789';

/** Writes a folder; removed after the test. */
export async function writePlugin(
  manifest: object | string,
  main: string,
  keep: (end: () => Promise<void>) => void = onTestFinished,
): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'parley-toy-'));
  keep(() => rm(folder, { recursive: true, force: true }));
  await mkdir(path.join(folder, 'toy'));
  const text = typeof manifest === 'string' ? manifest : JSON.stringify({ ...MANIFEST, ...manifest });
  await writeFile(path.join(folder, 'toy', 'parley.plugin.json'), text);
  await writeFile(path.join(folder, 'toy', 'main.js'), main);
  return path.join(folder, 'toy');
}

/** A running plug-in, and what it has written to the log. */
export interface Toy {
  process: PluginProcess;
  log: string[];
  /** What it may call. */
  asked: [string, readonly unknown[]][];
}

/** Makes its process, which ends with the test. */
export async function openToy(
  manifest: Record<string, unknown>,
  main: string,
  parts: Partial<PluginParts> = {},
): Promise<Toy> {
  const folder = await writePlugin(manifest, main);
  const redact = redactor({ secrets: [TOY_SECRET], shapes: [] });
  const log: string[] = [];
  const asked: Toy['asked'] = [];
  const process = new PluginProcess({
    manifest: readManifest(JSON.stringify({ ...MANIFEST, ...manifest })),
    folder,
    dataFolder: path.join(folder, '..', 'data'),
    settings: { TOY_SECRET },
    environment: { TZ: 'UTC', HIDDEN: 'of the gateway' },
    log: createLog({ level: 'debug', redact, write: (line) => void log.push(line) }),
    redact,
    verify: () => Promise.resolve(),
    openProxy: openEgressProxy,
    serve: (method, args) => {
      asked.push([method, args]);
      return Promise.resolve('answer');
    },
    ...parts,
    timing: { callMs: 20_000, pingMs: 2_000, restartMs: 10, mostRestartMs: 20, ...parts.timing },
  });
  onTestFinished(() => void process.close());
  return { process, log, asked };
}

/** The tools of a module, as its source. */
export function toolsSource(tools: string): string {
  return `export function tools(host) { return { ${tools} }; }`;
}

/** A manifest's tools by their names. */
export function toolFacts(...names: string[]): object[] {
  return names.map((name) => ({ name, description: name, parameters: { type: 'object' } }));
}
