/** OpenAI's own client in a browser, on a page of an allowed origin: preflights, headers and streams as browsers treat them. */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Browser, Page } from 'playwright-core';
import { openApi, type OpenApi } from './client.ts';
import { ROOT } from '../../architecture/imports.ts';
import { sharedBrowser } from './page/browser/browser.ts';
import { TOKEN } from './page/browser/describe-page.ts';
import { chromiumPath, needs } from '../../runs/needs.ts';

const chromium = chromiumPath();

const PACKAGE = path.join(ROOT, 'node_modules', 'openai');
/** Another site: an empty page, and the client's files as they are published. */
const site = createServer((request, response) => {
  const name = path.normalize(request.url ?? '/');
  if (name === '/') {
    response.setHeader('content-type', 'text/html').end('<!doctype html><title>Another site</title>');
    return;
  }
  response.setHeader('content-type', 'text/javascript');
  readFile(path.join(PACKAGE, name)).then(
    (file) => response.end(file),
    () => response.writeHead(404).end(),
  );
});

let api: OpenApi;
let page: Page;

beforeEach(async () => {
  if (chromium === undefined) return;
  await new Promise<void>((resolve) => void site.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  api = await openApi({ allowedOrigins: [origin] });
  const browser: Browser = await sharedBrowser(chromium);
  page = await (await browser.newContext()).newPage();
  page.setDefaultTimeout(30_000);
  await page.goto(origin);
});
afterEach(async () => {
  if (chromium === undefined) return;
  await page.context().close();
  await api.close();
  site.closeAllConnections();
  await new Promise((resolve) => site.close(resolve));
});

it('answers it whole, streamed and with its errors', needs('Chromium'), async () => {
  const script = `(async () => {
    const { default: OpenAI } = await import('/index.mjs');
    const client = new OpenAI({
      baseURL: ${JSON.stringify(`${api.url}/v1`)},
      apiKey: ${JSON.stringify(TOKEN)},
      dangerouslyAllowBrowser: true,
      defaultHeaders: { 'X-Session-Id': 'browser' },
    });
    const ask = { model: 'default', messages: [{ role: 'user', content: 'hi' }] };
    const { data: whole, response } = await client.chat.completions.create(ask).withResponse();
    let streamed = '';
    const stream = await client.chat.completions.create({ ...ask, stream: true });
    for await (const chunk of stream) streamed += chunk.choices[0]?.delta?.content ?? '';
    const failed = await client.chat.completions
      .create({ ...ask, model: 'none' })
      .catch((error) => [error.constructor.name, error.status, error.code]);
    return {
      whole: whole.choices[0].message.content,
      requestId: response.headers.get('x-request-id'),
      streamed,
      failed,
    };
  })()`;
  expect(await page.evaluate(script)).toEqual({
    whole: 'You said: hi',
    requestId: expect.stringMatching(/./),
    streamed: 'You said: hi',
    failed: ['NotFoundError', 404, 'model_not_found'],
  });
});
