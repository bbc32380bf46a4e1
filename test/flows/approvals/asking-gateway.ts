/**
 * A gateway as a separate process that has asked on Telegram before a dangerous call, and can be killed while the
 * question waits.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, vi } from 'vitest';
import { GatewayProcess } from '../../crash/gateways.ts';
import { startEffects } from '../../fakes/agent/effect-tools.ts';
import type { EffectsServer } from '../../fakes/agent/effect-tools.ts';
import { startFakeOllama } from '../../fakes/ollama/ollama.ts';
import { FAKE_TOKEN, FakeTelegram } from '../../fakes/telegram/telegram.ts';
import { FRIENDS, OWNER } from '../setup.ts';

/** Long enough for a process that starts on a busy machine. */
const LONG_WAIT = { timeout: 60_000, interval: 50 };

export interface AskingGateway {
  readonly telegram: FakeTelegram;
  /** Runs of the dangerous call are counted here. */
  readonly effects: EffectsServer;
  readonly gateway: GatewayProcess;
  /** The chat in which `do it` was said; also the id of its sender. */
  readonly chat: string;
  /** The question's id. */
  readonly id: string;
  /** GET, or with `json` POST, as the owner. */
  api: (route: string, json?: unknown) => Promise<Response>;
  /** SIGKILL once all deliveries are stored, and a new process in the same home. */
  killAndStart: () => Promise<void>;
  /** Waits until the Telegram chat shows this. */
  shows: (text: RegExp) => Promise<void>;
  /** Presses a button with this value on Telegram; returns what the user who pressed reads. */
  press: (value: string) => Promise<string>;
}

/** Starts it and has it ask; the process is killed and restarted once in between. Everything ends with the test. */
export async function killedWhileAsking(): Promise<AskingGateway> {
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
  const start = async (): Promise<void> => {
    gateway.start();
    await gateway.url();
  };
  // What Telegram shows before its id is stored is sent again by the next process: a separate case.
  const delivered = (): Promise<void> =>
    vi.waitFor(async () => {
      const metrics = await (await api('/metrics')).text();
      expect(metrics).toContain('parley_heads_running{class="out"} 0');
    }, LONG_WAIT);
  const killAndStart = async (): Promise<void> => {
    await delivered();
    await gateway.kill();
    await start();
  };
  const [chat = ''] = FRIENDS;
  const shows = (text: RegExp): Promise<void> =>
    vi.waitFor(() => expect(telegram.screen(chat).join('\n')).toMatch(text), LONG_WAIT);
  const press = async (value: string): Promise<string> => {
    const id = telegram.presses(chat, chat, value);
    await vi.waitFor(() => expect(telegram.pressed.answers.has(id)).toBe(true), LONG_WAIT);
    return telegram.pressed.answers.get(id) ?? '';
  };

  await start();
  ollama.answer({ toolCalls: [{ name: 'unsafe_probe', args: { word: 'once' } }] }, { when: 'do it' });
  telegram.says(chat, 'do it', chat);
  await shows(/May I do this/);
  await killAndStart();
  const { approvals }: { approvals: { id: string }[] } = await (await api('/v1/approvals')).json();
  expect(approvals).toHaveLength(1);
  return { telegram, effects, gateway, chat, id: approvals[0]?.id ?? '', api, killAndStart, shows, press };
}
