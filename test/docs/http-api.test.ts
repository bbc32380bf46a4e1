/** The page of the HTTP API against the routes, and its example for the openai package against a whole gateway. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { API } from '../../channels/http/app.ts';
import { loadConfig } from '../../src/config.ts';
import { startGateway } from '../../src/gateway.ts';
import { makeEmbeddedHome, silentLog } from '../database.ts';
import { startFakeOllama } from '../fakes/ollama/ollama.ts';
import { codeBlocks, ROOT, tableRows } from './pages.ts';

const PAGE = 'docs/http-api.md';

describe('the page of the HTTP API', () => {
  it('names every route, and no others', () => {
    const served = API.map(({ method, path: route }) => `${method} ${route}`).concat('GET /');
    expect(served.length).toBeGreaterThan(20);
    const listed = tableRows(PAGE).flatMap(([cell = '']) => routesIn(cell));
    expect(listed.toSorted()).toEqual(served.toSorted());
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

/** The routes of a cell such as `GET`, `PATCH /v1/a`, `GET /v1/b`: a method without a path has the next one's. */
function routesIn(cell: string): string[] {
  const spans = [...cell.matchAll(/`([A-Z]+)(?: (\/[^`]*))?`/g)];
  return spans.map(([, method], at) => {
    const route = spans.slice(at).find(([, , one]) => one !== undefined)?.[2];
    return `${method} ${route}`;
  });
}
