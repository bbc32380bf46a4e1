/**
 * A gateway as a separate process that has asked on Telegram before a dangerous call, and can be killed while the
 * question waits.
 */
import { expect, vi } from 'vitest';
import type { GatewayProcess } from '../../crash/gateways.ts';
import { type EffectsServer, startEffects } from '../../fakes/agent/effect-tools.ts';
import type { FakeTelegram } from '../../fakes/telegram/telegram.ts';
import { FRIENDS, OWNER } from '../setup.ts';
import { telegramProcess } from '../telegram-process.ts';

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
  const effects = await startEffects();
  const { telegram, ollama, gateway, start, ...started } = await telegramProcess({
    environment: { EFFECTS_URL: effects.url, EFFECTS_RISK: 'dangerous' },
    others: [effects],
  });
  const api = async (route: string, json?: unknown): Promise<Response> =>
    await fetch((await gateway.url()) + route, {
      method: json === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${OWNER}`, 'content-type': 'application/json' },
      ...(json !== undefined && { body: JSON.stringify(json) }),
    });
  // What Telegram shows before its id is stored is sent again by the next process: a separate case.
  const delivered = (): Promise<void> =>
    vi.waitFor(async () => {
      const metrics = await (await api('/metrics')).text();
      expect(metrics).toContain('parley_heads_running{class="out"} 0');
    }, LONG_WAIT);
  const killAndStart = async (): Promise<void> => {
    await delivered();
    await started.killAndStart();
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
