/** A real process killed while a question waits, and once more after it was answered: asked, decided and run once. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { GatewayProcess } from '../crash/gateways.ts';
import { startEffects } from '../fakes/effect-tools.ts';
import { startFakeOllama } from '../fakes/ollama.ts';
import { FAKE_TOKEN, FakeTelegram } from '../fakes/telegram.ts';
import { FRIENDS, OWNER } from './house.ts';

const WAIT = { timeout: 60_000, interval: 50 };

it('runs a call once that was asked for on Telegram and allowed over HTTP, with kill -9 in between (S-45)', async () => {
  const [telegram, effects, ollama] = await Promise.all([
    FakeTelegram.start(),
    startEffects(),
    startFakeOllama(),
  ]);
  const folder = await mkdtemp(path.join(tmpdir(), 'parley-asked-'));
  const home = path.join(folder, 'home');
  await mkdir(home);
  const access = { telegram: { allow: FRIENDS } };
  await writeFile(path.join(home, 'config.json'), JSON.stringify({ access }), { mode: 0o600 });
  const gateway = new GatewayProcess(home, {
    PORT: '0',
    GATEWAY_TOKEN: OWNER,
    OLLAMA_HOST: ollama.url,
    TELEGRAM_BOT_TOKEN: FAKE_TOKEN,
    TELEGRAM_API_ROOT: telegram.root,
    EFFECTS_URL: effects.url,
    EFFECTS_RISK: 'dangerous',
  });
  onTestFinished(async () => {
    await gateway.kill();
    await Promise.all([telegram.close(), effects.close(), ollama.close()]);
    await rm(folder, { recursive: true, force: true });
  });
  const api = async (route: string, json?: unknown): Promise<Response> =>
    await fetch((await gateway.url()) + route, {
      method: json === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${OWNER}`, 'content-type': 'application/json' },
      ...(json !== undefined && { body: JSON.stringify(json) }),
    });
  const killAndStart = async (): Promise<void> => {
    await gateway.kill();
    gateway.start();
    await gateway.url();
  };
  const [chat = ''] = FRIENDS;
  const shows = (text: RegExp) =>
    vi.waitFor(() => expect(telegram.screen(chat).join('\n')).toMatch(text), WAIT);

  gateway.start();
  await gateway.url();
  ollama.answer({ toolCalls: [{ name: 'unsafe_probe', args: { word: 'once' } }] }, { when: 'do it' });
  telegram.says(chat, 'do it', chat);
  await shows(/May I do this/);
  await killAndStart();
  const listed: { approvals: { id: string }[] } = await (await api('/v1/approvals')).json();
  expect(listed.approvals).toHaveLength(1);
  const id = listed.approvals[0]?.id ?? '';
  expect((await api(`/v1/approvals/${id}`, { decision: 'approved' })).status).toBe(200);
  await shows(/echo: do it/);
  await shows(/Approved by the HTTP API/);
  expect([...effects.counts().values()]).toEqual([1]);
  await killAndStart();
  expect((await api(`/v1/approvals/${id}`, { decision: 'denied' })).status).toBe(409);
  const press = telegram.presses(chat, chat, `deny:${id}`);
  await vi.waitFor(() => expect(telegram.pressed.answers.get(press)).toContain('already'), WAIT);
  expect([...effects.counts().values()]).toEqual([1]);
}, 240_000);
