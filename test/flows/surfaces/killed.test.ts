/** A real process killed while one answer streams to three chats, and again while its finals are on their way. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { GatewayProcess } from '../../crash/gateways.ts';
import { FakeDiscord } from '../../fakes/discord/discord.ts';
import { startFakeOllama } from '../../fakes/ollama/ollama.ts';
import { FAKE_TOKEN, FakeTelegram } from '../../fakes/telegram/telegram.ts';
import { FRIENDS, OWNER } from '../setup.ts';

const until = (check: () => void | Promise<void>): Promise<void> =>
  vi.waitFor(check, { timeout: 60_000, interval: 10 });
const ANSWER = Array.from({ length: 60 }, (_, n) => `word${n}`).join(' ');
const PAGE = 'http:shared';

it('loses nothing and doubles nothing in any of three chats, however often it is killed', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'parley-killed-'));
  const home = path.join(folder, 'home');
  await mkdir(home, { recursive: true });
  const [telegram, discord, ollama] = await Promise.all([
    FakeTelegram.start(),
    FakeDiscord.open(),
    startFakeOllama(),
  ]);
  const { channel, person } = discord.dm('Ada');
  const [chat = ''] = FRIENDS;
  const access = { telegram: { allow: [chat] }, discord: { allow: [person.id] } };
  await writeFile(path.join(home, 'config.json'), JSON.stringify({ access }), { mode: 0o600 });
  const gateway = new GatewayProcess(home, {
    PORT: '0',
    GATEWAY_TOKEN: OWNER,
    OLLAMA_HOST: ollama.url,
    TELEGRAM_BOT_TOKEN: FAKE_TOKEN,
    TELEGRAM_API_ROOT: telegram.root,
    DISCORD_BOT_TOKEN: discord.token,
    DISCORD_API_ROOT: discord.apiRoot,
  });
  onTestFinished(async () => {
    await gateway.kill();
    await Promise.all([telegram.close(), discord.close(), ollama.close()]);
    await rm(folder, { recursive: true, force: true });
  });
  let url = '';
  const restart = async (): Promise<void> => {
    await gateway.kill();
    gateway.start();
    url = await gateway.url();
  };
  const call = async (
    route: string,
    json?: unknown,
  ): Promise<{ reply?: string; messages?: { content: string }[] }> => {
    const answer = await fetch(`${url}/v1/sessions/${PAGE}${route}`, {
      method: json === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${OWNER}`, 'content-type': 'application/json' },
      ...(json !== undefined && { body: JSON.stringify(json) }),
    });
    return await answer.json();
  };
  const onTelegram = (): string[] => telegram.screen(chat);
  const onDiscord = (): string[] => {
    const seen = discord.visible(channel);
    return discord.screen(channel).filter((_, index) => seen[index]?.author.bot === true);
  };
  const join = async (
    enter: (code: string) => void,
    agree: () => void,
    shown: () => string[],
  ): Promise<void> => {
    const { reply } = await call('/messages', { content: '/link' });
    enter(/\/link ([0-9A-Z-]{11})/.exec(reply ?? '')?.[1] ?? '');
    await until(() => expect(shown().join('\n')).toContain('I have asked on Web'));
    agree();
    await until(() => expect(shown().join('\n')).toContain('I wait for Web'));
    await call('/messages', { content: '/link yes' });
    await until(() => expect(shown().join('\n')).toContain('shares this conversation now'));
  };
  gateway.start();
  url = await gateway.url();
  await call('/messages', { content: 'hello' });
  await join(
    (code) => telegram.says(chat, `/link ${code}`, chat),
    () => telegram.says(chat, '/link yes', chat),
    onTelegram,
  );
  await join(
    (code) => discord.says(channel, `/link ${code}`, person),
    () => discord.says(channel, '/link yes', person),
    onDiscord,
  );

  ollama.answer({ text: ANSWER, perSecond: 12 }, { when: 'tell us all' });
  ollama.answer({ text: ANSWER, perSecond: 12 }, { when: 'tell us all' });
  ollama.answer({ text: ANSWER, perSecond: 40 }, { when: 'tell us all' });
  await call('/messages', { content: 'tell us all' });
  const growing = async (): Promise<void> => {
    await until(() => expect(onTelegram().at(-1)).toContain('word4'));
    await until(() => expect(onDiscord().at(-1)).toContain('word4'));
  };
  await growing();
  await restart();
  await growing();
  await restart();
  // The first chat that shows all of it is not the last one.
  await until(() => expect([onTelegram().at(-1), onDiscord().at(-1)]).toContain(ANSWER));
  await restart();
  await until(() => expect(onTelegram().at(-1)).toBe(ANSWER));
  await until(() => expect(onDiscord().at(-1)).toBe(ANSWER));
  await until(async () => {
    const metrics = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${OWNER}` } });
    const text = await metrics.text();
    expect(text).toMatch(/^parley_messages_pending 0$/m);
    expect(text).toMatch(/^parley_heads_running\{class="out"\} 0$/m);
  });
  const count = (shown: string[], text: string): number =>
    shown.filter((message) => message.includes(text)).length;
  for (const shown of [onTelegram(), onDiscord()]) {
    expect(count(shown, 'word0')).toBe(1);
    expect(count(shown, 'on Web:')).toBe(1);
  }
  const { messages = [] } = await call('/messages');
  const answers = messages.filter(({ content }) => content === ANSWER);
  expect(answers).toHaveLength(1);
}, 180_000);
