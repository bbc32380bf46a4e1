/** A real process killed while one answer streams to chats of every network, and again during its finals. */
import { expect, it, onTestFinished, vi } from 'vitest';
import { CHATS_OF_A_PERSON, chatsOfPerson, type LinkedChat, sessionsFor } from '../../crash/links/chats.ts';
import { startScenario, TOKEN } from '../../crash/scenario.ts';

const until = (check: () => void | Promise<void>): Promise<void> =>
  vi.waitFor(check, { timeout: 60_000, interval: 10 });
const ANSWER = Array.from({ length: 60 }, (_, n) => `word${n}`).join(' ');
const PAGE = '/v1/sessions/http:shared';
/** The limits of people and platforms have their own tests. */
const CONFIG = {
  limits: { messagesPerMinute: 600, messagesAtOnce: 60 },
  channels: {
    telegram: { groupCallsPerMinute: 1_000, editIntervalMs: { group: 300 } },
    slack: { editsPerSecond: { start: 20, most: 20 } },
    matrix: { eventsPerSecond: { start: 20 } },
  },
};

const shownIn = ({ screen }: LinkedChat): string[] => screen().map(({ text }) => text);
const count = (chat: LinkedChat, text: string): number =>
  shownIn(chat).filter((shown) => shown.includes(text)).length;

it('neither loses nor repeats anything in private chats, a group, a channel, a thread and on the page, however often it is killed', async () => {
  const scenario = await startScenario({ sessions: sessionsFor(1), dm: 'open', config: CONFIG });
  const { ollama, gateways } = scenario;
  const [gateway] = gateways;
  onTestFinished(async () => {
    await gateway?.kill();
    await scenario.close();
  });
  if (gateway === undefined) throw new Error('The scenario has no gateway.');
  let url = '';
  const restart = async (): Promise<void> => {
    await gateway.kill();
    gateway.start();
    url = await gateway.url();
  };
  const call = async (route: string, json?: unknown): Promise<Record<string, unknown>> => {
    const answer = await fetch(`${url}${route}`, {
      method: json === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      ...(json !== undefined && { body: JSON.stringify(json) }),
    });
    return await answer.json();
  };
  /** The page gives the code, the chat enters it, and both agree. */
  const link = async (chat: LinkedChat): Promise<void> => {
    const { code } = await call(`${PAGE}/links`, {});
    chat.command(`link ${String(code)}`);
    await until(async () => expect((await call(`${PAGE}/surfaces`))['asks']).toBeTruthy());
    await call(`/v1/links/${String(code)}`, { session: 'http:shared', agree: true });
    chat.command('link yes');
    await until(() =>
      expect([chat.address, count(chat, 'now shares this conversation')]).toEqual([chat.address, 1]),
    );
  };

  gateway.start();
  url = await gateway.url();
  await until(async () => expect(JSON.stringify(await call('/readyz'))).not.toMatch(/starting|degraded/));
  await call(`${PAGE}/messages`, { content: 'hello' });
  const chats = chatsOfPerson(scenario, 0);
  for (const chat of chats) await link(chat);
  const { surfaces } = (await call(`${PAGE}/surfaces`)) as { surfaces: unknown[] };
  expect(surfaces).toHaveLength(CHATS_OF_A_PERSON + 1);

  ollama.answer({ text: ANSWER, perSecond: 10 }, { when: 'tell us all' });
  ollama.answer({ text: ANSWER, perSecond: 10 }, { when: 'tell us all' });
  ollama.answer({ text: ANSWER, perSecond: 40 }, { when: 'tell us all' });
  await call(`${PAGE}/messages`, { content: 'tell us all' });
  const growing = (): Promise<void> =>
    until(() => {
      for (const chat of chats) expect(shownIn(chat).at(-1)).toContain('word4');
    });
  await growing();
  await restart();
  await growing();
  await restart();
  // The first chat that shows all of it is not the last one.
  await until(() => expect(chats.map((chat) => shownIn(chat).at(-1))).toContain(ANSWER));
  await restart();
  for (const chat of chats) await until(() => expect(shownIn(chat).at(-1)).toBe(ANSWER));
  await until(async () => {
    const metrics = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } });
    const text = await metrics.text();
    expect(text).toMatch(/^parley_messages_pending 0$/m);
    expect(text).toMatch(/^parley_heads_running\{class="out"\} 0$/m);
  });
  for (const chat of chats) {
    const { address } = chat;
    expect([address, count(chat, 'word0'), count(chat, 'on Web:')]).toEqual([address, 1, 1]);
  }
  const { messages = [] } = (await call(`${PAGE}/messages`)) as { messages?: { content: string }[] };
  expect(messages.filter(({ content }) => content === ANSWER)).toHaveLength(1);
}, 240_000);
