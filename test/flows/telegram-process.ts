/** A gateway in a process of its own, with Telegram and a model: it can be killed and started again. */
import { WHOLE_HOME } from '../database.ts';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { GatewayProcess } from '../crash/gateways.ts';
import { startFakeOllama } from '../fakes/ollama/ollama.ts';
import { FAKE_TOKEN, FakeTelegram } from '../fakes/telegram/telegram.ts';
import { FRIENDS, OWNER } from './setup.ts';

export interface TelegramProcess {
  telegram: FakeTelegram;
  ollama: Awaited<ReturnType<typeof startFakeOllama>>;
  gateway: GatewayProcess;
  /** Its folder, on which the gateway has not started yet. */
  home: string;
  /** Starts it, and waits until it answers. */
  start: () => Promise<void>;
  /** SIGKILL, if it runs, and a new process in the same home. */
  killAndStart: () => Promise<void>;
}

/** What differs from a gateway that friends may write to. */
export interface TelegramProcessOptions {
  /** Fields of `config.json`. */
  config?: object;
  environment?: Record<string, string>;
  model?: Parameters<typeof startFakeOllama>[0];
  /** What is closed with it. */
  others?: readonly { close(): Promise<void> }[];
}

/** Prepares it without starting it. Everything ends with the test. */
export async function telegramProcess({
  config = {},
  environment = {},
  model = {},
  others = [],
}: TelegramProcessOptions = {}): Promise<TelegramProcess> {
  const [telegram, ollama] = await Promise.all([FakeTelegram.start(), startFakeOllama(model)]);
  const folder = await mkdtemp(path.join(tmpdir(), 'parley-process-'));
  const home = path.join(folder, 'home');
  await mkdir(home);
  const file = { access: { telegram: { allow: FRIENDS } }, ...config };
  await writeFile(path.join(home, 'config.json'), JSON.stringify(file), { mode: 0o600 });
  const gateway = new GatewayProcess(home, {
    PORT: '0',
    GATEWAY_TOKEN: OWNER,
    OLLAMA_HOST: ollama.url,
    TELEGRAM_BOT_TOKEN: FAKE_TOKEN,
    TELEGRAM_API_ROOT: telegram.root,
    ...environment,
  });
  onTestFinished(async () => {
    await gateway.kill();
    await Promise.all([telegram, ollama, ...others].map((one) => one.close()));
    await rm(folder, WHOLE_HOME);
  });
  const start = async (): Promise<void> => {
    gateway.start();
    await gateway.url();
  };
  const killAndStart = async (): Promise<void> => {
    await gateway.kill();
    await start();
  };
  return { telegram, ollama, gateway, home, start, killAndStart };
}
