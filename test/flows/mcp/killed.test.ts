/** A gateway that is killed while an MCP server is working on a call. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { serverDatabase } from '../../crash/databases.ts';
import { GatewayProcess } from '../../crash/gateways.ts';
import { serverUrl } from '../../database.ts';
import { scripted, seenBy, WAIT } from '../../fakes/mcp/servers.ts';
import { startFakeOllama } from '../../fakes/ollama/ollama.ts';
import { OWNER } from '../setup.ts';

it('does not make the call twice when it is killed in the middle of a call', async () => {
  const seen = seenBy();
  const folder = await mkdtemp(path.join(tmpdir(), 'parley-mcp-'));
  const home = path.join(folder, 'home');
  await mkdir(home, { mode: 0o700 });
  const servers = { notes: scripted(['hang'], { FAKE_LOG: seen.file }) };
  await writeFile(path.join(home, 'config.json'), JSON.stringify({ mcp: { servers } }), { mode: 0o600 });
  const ollama = await startFakeOllama();
  const place = await serverDatabase(serverUrl(), 0);
  const gateway = new GatewayProcess(home, {
    PORT: '0',
    GATEWAY_TOKEN: OWNER,
    OLLAMA_HOST: ollama.url,
    ...place.environment(0),
  });
  onTestFinished(async () => {
    await gateway.kill();
    await ollama.close();
    await place.close();
    await rm(folder, { recursive: true, force: true });
  });
  const api = async (route: string, json?: unknown) => {
    const init = json === undefined ? {} : { method: 'POST', body: JSON.stringify(json) };
    const headers = { authorization: `Bearer ${OWNER}`, 'content-type': 'application/json' };
    const answer = await fetch((await gateway.url()) + route, { headers, ...init });
    return JSON.stringify(await answer.json());
  };
  const approvalOf = (text: string): string | undefined => /"id":"([^"]+)"/.exec(text)?.[1];

  gateway.start();
  await gateway.url();
  await vi.waitFor(
    () => expect(seen.lines().filter((line) => line === 'list').length).toBeGreaterThan(1),
    WAIT,
  );
  ollama.answer({ toolCalls: [{ name: 'notes__hang', args: {} }] }, { when: 'pay the bill' });
  await api('/v1/sessions/http:kill/messages', { content: 'pay the bill' });
  const id = await vi.waitFor(async () => {
    const found = approvalOf(await api('/v1/approvals'));
    if (found === undefined) throw new Error('nothing is asked');
    return found;
  }, WAIT);
  await api(`/v1/approvals/${id}`, { decision: 'approved' });
  await vi.waitFor(() => expect(seen.lines()).toContain('call hang {}'), WAIT);
  await gateway.kill();
  gateway.start();
  await vi.waitFor(
    async () => expect(await api('/v1/sessions/http:kill/messages')).toContain('echo: pay the bill'),
    { timeout: 60_000, interval: 50 },
  );
  expect(seen.lines().filter((line) => line === 'call hang {}')).toHaveLength(1);
  const last = ollama.calls.at(-1)?.body.messages.findLast(({ role }) => role === 'tool');
  expect(last?.content).toContain('Outcome unknown: notes__hang was interrupted and is not run again');
}, 120_000);
