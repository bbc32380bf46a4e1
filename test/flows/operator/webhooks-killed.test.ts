/** Outbound webhooks of a real process that is killed while a post is in flight; and the guide's receiver. */
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { GatewayProcess } from '../../crash/gateways.ts';
import { codeBlocks, ROOT } from '../../docs/pages.ts';
import { startFakeOllama } from '../../fakes/ollama/ollama.ts';
import { OWNER } from '../setup.ts';

const SECRET = 'a-secret-of-the-receiver-0123456789';
const WAIT = { timeout: 60_000, interval: 20 };

/** A gateway in a separate process, with these webhooks. */
async function startProcess(webhooks: object): Promise<{
  gateway: GatewayProcess;
  say: (text: string) => Promise<string>;
}> {
  const folder = await mkdtemp(path.join(tmpdir(), 'parley-webhooks-'));
  const home = path.join(folder, 'home');
  await mkdir(home, { recursive: true });
  await writeFile(path.join(home, 'config.json'), JSON.stringify({ webhooks }), { mode: 0o600 });
  const ollama = await startFakeOllama();
  const gateway = new GatewayProcess(home, {
    PORT: '0',
    GATEWAY_TOKEN: OWNER,
    OLLAMA_HOST: ollama.url,
    EVENTS_SECRET: SECRET,
  });
  onTestFinished(async () => {
    await gateway.kill();
    await ollama.close();
    await rm(folder, { recursive: true, force: true });
  });
  gateway.start();
  const say = async (content: string): Promise<string> => {
    const answer = await fetch(`${await gateway.url()}/v1/sessions/http:notes/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${OWNER}`, 'content-type': 'application/json' },
      body: JSON.stringify({ content }),
    });
    const { turnId } = await answer.json();
    return turnId;
  };
  return { gateway, say };
}

it('posts again, under the same id, what was in flight when the process was killed, and continues in order', async () => {
  const ids: string[] = [];
  let silent = true;
  const server = createServer((request, response) => {
    ids.push(String(request.headers['x-parley-id']));
    request.resume().on('end', () => {
      if (!silent) response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => void server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/`;
  const rule = { url, events: ['turn_ended'], secretEnv: 'EVENTS_SECRET', private: true };
  const { gateway, say } = await startProcess({ ci: rule });
  await vi.waitFor(() => expect(ids).toEqual(['webhook_added:ci']), WAIT);
  const [first, second] = [await say('one'), await say('two')];
  await gateway.kill();
  silent = false;
  gateway.start();
  const wanted = ['webhook_added:ci', `turn_ended:${first}`, `turn_ended:${second}`];
  await vi.waitFor(() => expect(ids.slice(1)).toEqual(wanted), WAIT);
}, 120_000);

it('is received by the program from the guide, with the settings from the guide', async () => {
  const [example] = codeBlocks('docs/http-api.md').filter(({ text }) => text.includes('"webhooks"'));
  const { webhooks } = JSON.parse(example?.text ?? '{}');
  const child = spawn(process.execPath, ['docs/examples/webhook-receiver.ts'], {
    cwd: ROOT,
    env: { PATH: process.env['PATH'], EVENTS_SECRET: SECRET, PORT: new URL(webhooks.ci.url).port },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill());
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await vi.waitFor(() => expect(output).toContain('Waiting for events.'), WAIT);
  const { say } = await startProcess(webhooks);
  await say('hello');
  await vi.waitFor(() => expect(output).toContain('turn_ended http:notes'), WAIT);
  expect(output.match(/turn_ended/g)).toHaveLength(1);
  const forged = await fetch(webhooks.ci.url, {
    method: 'POST',
    headers: { 'x-parley-signature': `t=${Math.floor(Date.now() / 1_000)},v1=${'0'.repeat(64)}` },
    body: '{}',
  });
  expect(forged.status).toBe(401);
}, 120_000);
