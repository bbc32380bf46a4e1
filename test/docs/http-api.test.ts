/** The page of the HTTP API against the routes, and its example for the openai package against a whole gateway. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { startGateway } from '../../src/gateway.ts';
import { makeEmbeddedHome, silentLog } from '../database.ts';
import { startFakeOllama } from '../fakes/ollama/ollama.ts';
import { API_PAGES, renderApiPage } from './api/api-pages.ts';
import { codeBlocks, readText, ROOT } from './pages.ts';

const PAGE = 'docs/http-api.md';

describe('the page of the HTTP API', () => {
  it('leads to a page for each group of routes', () => {
    const text = readText(PAGE);
    expect(API_PAGES.filter(({ tag }) => !text.includes(`[${tag}](api/${tag}.md)`))).toEqual([]);
  });

  it('has an example for the openai package that runs and prints the answer', async () => {
    const model = await startFakeOllama({ fallback: { text: 'Hello from the model.' } });
    const home = await makeEmbeddedHome();
    const token = 'a-token-for-the-example-0123456789';
    const config = loadConfig({
      GATEWAY_HOME: home,
      GATEWAY_TOKEN: token,
      PORT: '0',
      OLLAMA_HOST: model.url,
    });
    const gateway = await startGateway(config, { log: silentLog });
    // Inside the repository, where node finds the package.
    mkdirSync(path.join(ROOT, 'test/.tmp'), { recursive: true });
    const folder = mkdtempSync(path.join(ROOT, 'test/.tmp/example-'));
    onTestFinished(async () => {
      await gateway.stop();
      await model.close();
      for (const place of [home, folder]) rmSync(place, { recursive: true, force: true });
    });
    const [example] = codeBlocks(PAGE).filter(({ language }) => language === 'js');
    const file = path.join(folder, 'chat.mjs');
    writeFileSync(file, (example?.text ?? '').replace('http://127.0.0.1:8080', gateway.url));
    const child = spawn(process.execPath, [file], {
      env: { TOKEN: token },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
    await once(child, 'close');
    expect(output).toBe('Hello from the model.');
  }, 60_000);
});

describe.each(API_PAGES)('the page of the routes of $tag', ({ file, routes, ...page }) => {
  it('is as "npm run docs" writes it, with a paragraph for every route and no others', () => {
    const text = readText(file);
    expect(text, 'run: npm run docs').toBe(renderApiPage({ file, routes, ...page }));
    const headings = [...text.matchAll(/^## `([^`]+)`\n\n\S/gm)].map(([, name]) => name);
    expect(headings).toEqual(routes.map((route) => `${route.method} ${route.path}`));
  });
});
