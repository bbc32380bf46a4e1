/** A coding agent asks its human on Telegram through the gateway, and gets the answer whatever happens in between. */
import { expect, it, vi } from 'vitest';
import { freePort } from '../../fakes/network/free-port.ts';
import { telegramProcess, type TelegramProcess } from '../telegram-process.ts';
import { OWNER } from '../setup.ts';
import { connectProgram } from './programs.ts';

/** Processes that start and are killed take their time on a busy machine. */
const WAIT = { timeout: 60_000, interval: 20 };
const HUMAN = '7001';
const CONFIG = { access: { telegram: { allow: [HUMAN] }, owners: { telegram: [HUMAN] } } };

async function human(): Promise<{ process: TelegramProcess; url: string; screen: () => string }> {
  const port = await freePort();
  const process = await telegramProcess({ config: CONFIG, environment: { PORT: String(port) } });
  const screen = (): string => process.telegram.screen(HUMAN).join('\n');
  await process.start();
  process.telegram.says(HUMAN, 'hello', HUMAN);
  await vi.waitFor(() => expect(screen()).toContain('echo: hello'), WAIT);
  return { process, url: `http://127.0.0.1:${port}`, screen };
}

const asking = { key: 'deploy-42', question: 'Shall I deploy to production?', waitSeconds: 600 };
const times = (text: string, part: string): number => text.split(part).length - 1;

it.each(['of 2025', 'today, as of 2025'] as const)(
  'gives a client that holds its stream the answer after kill -9, and asks the human once (%s)',
  async (kind) => {
    const { process, url, screen } = await human();
    const { call } = await connectProgram(url, OWNER, kind);
    const events: string[] = [];
    const answer = call('ask_person', asking, { onEvent: (id) => events.push(id) });
    await vi.waitFor(() => expect(screen()).toContain('Shall I deploy'), WAIT);
    expect(events.length).toBeGreaterThan(0);
    // The next message of the chat comes after the question is known to be sent: until then a crash may send it again.
    process.telegram.says(HUMAN, '/questions', HUMAN);
    await vi.waitFor(() => expect(screen()).toContain('may have me ask you'), WAIT);
    await process.killAndStart();
    const question = process.telegram.messages(HUMAN).findLast(({ text }) => text.includes('Shall I deploy'));
    process.telegram.says(HUMAN, 'Yes, after lunch.', HUMAN, { replyTo: question?.id });
    expect(await answer).toMatchObject({ text: 'Yes, after lunch.', isError: false });
    expect(times(screen(), 'Shall I deploy')).toBe(1);
  },
  600_000,
);

it('gives a program of today, which holds no stream, the answer to the same call after kill -9', async () => {
  const { process, url, screen } = await human();
  const { call } = await connectProgram(url);
  const stop = new AbortController();
  const lost = call('ask_person', asking, { signal: stop.signal }).catch(() => 'lost');
  await vi.waitFor(() => expect(screen()).toContain('Shall I deploy'), WAIT);
  process.telegram.says(HUMAN, '/questions', HUMAN);
  await vi.waitFor(() => expect(screen()).toContain('may have me ask you'), WAIT);
  await process.killAndStart();
  // Its stream has ended without an answer, which the SDK leaves to the program to notice.
  stop.abort();
  expect(await lost).toBe('lost');
  const answer = call('ask_person', asking);
  const question = process.telegram.messages(HUMAN).findLast(({ text }) => text.includes('Shall I deploy'));
  process.telegram.says(HUMAN, 'Yes, after lunch.', HUMAN, { replyTo: question?.id });
  expect(await answer).toMatchObject({ text: 'Yes, after lunch.', isError: false });
  expect(times(screen(), 'Shall I deploy')).toBe(1);
}, 600_000);

it('gives a new client that asks under the same key the answer that came while the gateway was killed and started', async () => {
  const { process, url, screen } = await human();
  const first = await connectProgram(url);
  const waiting = await first.call('ask_person', { ...asking, waitSeconds: 0 });
  expect(waiting.fields).toMatchObject({ state: 'waiting', key: 'deploy-42' });
  await vi.waitFor(() => expect(screen()).toContain('Shall I deploy'), WAIT);
  const question = process.telegram.messages(HUMAN).findLast(({ text }) => text.includes('Shall I deploy'));
  process.telegram.says(HUMAN, 'No.', HUMAN, { replyTo: question?.id });
  await vi.waitFor(() => expect(screen()).toContain('I pass your answer on'), WAIT);
  await process.killAndStart();
  const second = await connectProgram(url);
  const answers = await Promise.all([second.call('ask_person', asking), second.call('ask_person', asking)]);
  expect(answers.map(({ fields }) => [fields['state'], fields['answer']])).toEqual([
    ['answered', 'No.'],
    ['answered', 'No.'],
  ]);
  expect(times(screen(), 'Shall I deploy')).toBe(1);
}, 600_000);
