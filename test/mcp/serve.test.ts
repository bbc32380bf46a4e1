/** The gateway as a server costs a start nothing: the protocol is loaded with the first request. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';

const SCRIPT = `
import { registerHooks } from 'node:module';
let loaded = 0;
registerHooks({ load(url, context, next) {
  if (url.includes('@modelcontextprotocol')) loaded += 1;
  return next(url, context);
} });
const { createServeMcp } = await import('./src/mcp/index.ts');
const serve = createServeMcp('7');
const before = loaded;
const headers = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
const request = new Request('http://127.0.0.1/mcp', { method: 'POST', headers });
const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
const answer = await (await serve(request, ping, { tools: () => [], templates: [], instructions: '' })).text();
console.log(JSON.stringify({ before, isLoaded: loaded > 0, answer }));
`;

it('loads the packages of the protocol with the first request, and not before', async () => {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', SCRIPT], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [output] = await Promise.all([text(child.stdout), once(child, 'close')]);
  expect(JSON.parse(output)).toEqual({
    before: 0,
    isLoaded: true,
    answer: '{"result":{},"jsonrpc":"2.0","id":1}',
  });
});
