/** A gateway of which pictures are taken: in this process, with the demo's home and model, and a browser to draw with. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Browser } from 'playwright-core';
import { loadConfig } from '../../src/config.ts';
import { startGateway } from '../../src/gateway.ts';
import type { Gateway } from '../../src/lifecycle.ts';
import type { Tool } from '../../src/protocol/agent/tool.ts';
import { launch } from '../channels/http/page/browser/browser.ts';
import { silentLog } from '../database.ts';
import { demoAnswer } from '../fakes/demo/answer.ts';
import { writeDemoHome } from '../fakes/demo/home.ts';
import { startFakeOllama } from '../fakes/ollama/ollama.ts';
import { chromiumPath } from '../runs/needs.ts';

/** The gateway, its model and the browser; `close` closes everything, also the platforms. */
export interface DrawnGateway {
  gateway: Gateway;
  model: Awaited<ReturnType<typeof startFakeOllama>>;
  browser: Browser;
  close(): Promise<void>;
}

/** What the gateway has: `config.json`, the variables of its channels with their platforms, and more tools. */
export interface DrawnSettings {
  settings: object;
  env: Record<string, string>;
  platforms: readonly { close(): Promise<void> }[];
  tools?: readonly Tool[];
}

/** Starts them. Throws when there is no Chromium. */
export async function openDrawnGateway({
  settings,
  env,
  platforms,
  tools = [],
}: DrawnSettings): Promise<DrawnGateway> {
  const chromium = chromiumPath();
  if (chromium === undefined)
    throw new Error('There is no Chromium: install one, or set CHROMIUM to its path.');
  const home = await mkdtemp(path.join(tmpdir(), 'parley-drawn-'));
  await writeDemoHome(home);
  await writeFile(path.join(home, 'config.json'), JSON.stringify(settings), { mode: 0o600 });
  const model = await startFakeOllama({ fallback: demoAnswer });
  const config = loadConfig({ GATEWAY_HOME: home, PORT: '0', OLLAMA_HOST: model.url, ...env });
  const gateway = await startGateway(config, { log: silentLog, demo: true, tools });
  const browser = await launch(chromium);
  return {
    gateway,
    model,
    browser,
    async close() {
      await browser.close();
      await gateway.stop();
      await Promise.all([model, ...platforms].map((one) => one.close()));
      await rm(home, { recursive: true, force: true });
    },
  };
}
