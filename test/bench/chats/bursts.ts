/** Row `bursts`: many Telegram users ask at the same instant, at several model speeds. */
import { FAKE_TOKEN, FakeTelegram } from '../../fakes/telegram/telegram.ts';
import { calls, lookAt } from './chats.ts';
import { type Figure, median } from '../figures.ts';
import type { RunningGateway } from '../gateway-setup.ts';
import { figure, firstOf, type Measured, quiet, sameTexts, seen, type Seen, spread } from './screens.ts';

/** Consecutive questions when one chat asks. */
const ALONE = 10;

interface Burst {
  /** Milliseconds per token; 0: all at once. */
  tokenMs: number;
  chats: number;
  tokens: number;
  /** Figures of the first version: first text, p50 / p99; whole answer; calls per second. */
  before: string;
}

const BURSTS: readonly Burst[] = [
  { tokenMs: 0, chats: 1, tokens: 40, before: '86 / 146; 86 / 146; 9.5' },
  { tokenMs: 0, chats: 16, tokens: 40, before: '1,279 / 1,639; 1,279 / 1,639; 27' },
  { tokenMs: 0, chats: 64, tokens: 40, before: '3,200 / 4,639; 3,200 / 4,639; 25.3' },
  { tokenMs: 20, chats: 1, tokens: 40, before: '1,030 / 1,103; 1,030 / 1,103; 2.1' },
  { tokenMs: 20, chats: 16, tokens: 40, before: '1,114 / 1,601; 1,184 / 1,850; 22' },
  { tokenMs: 20, chats: 64, tokens: 40, before: '3,553 / 4,240; 3,553 / 4,240; 25.1' },
  { tokenMs: 50, chats: 1, tokens: 40, before: '1,122 / 1,148; 2,460 / 2,509; 1.3' },
  { tokenMs: 50, chats: 16, tokens: 40, before: '644 / 1,631; 2,516 / 3,119; 18' },
  { tokenMs: 50, chats: 64, tokens: 40, before: '3,363 / 6,416; 4,639 / 6,577; 25.1' },
  { tokenMs: 50, chats: 16, tokens: 200, before: '1,674 / 2,000; 11,058 / 11,511; 15' },
  { tokenMs: 50, chats: 64, tokens: 200, before: '11,790 / 14,010; 21,398 / 23,170; 25' },
];

export async function burstsOfQuestions(gateway: RunningGateway): Promise<Figure[]> {
  const telegram = await FakeTelegram.start();
  await gateway.restart({ TELEGRAM_BOT_TOKEN: FAKE_TOKEN, TELEGRAM_API_ROOT: telegram.root });
  try {
    const people = { last: 20_000 };
    const measured: Measured[] = [];
    const answers: Seen[] = [];
    for (const burst of BURSTS) {
      const one = await measure(telegram, burst, people);
      measured.push(one.figure);
      answers.push(...one.answers);
    }
    const chats = Array.from({ length: people.last - 20_000 }, (_, nth) => String(20_001 + nth));
    const doubled = chats.filter((id) => telegram.messages(id).length !== 1).length;
    measured.push(
      figure('Telegram, bursts: calls that showed what was there', sameTexts(answers), '', 0, '321'),
      figure('Telegram, bursts: the same refused by the server', telegram.chats.unmodified, '', 0),
      figure('Telegram, bursts: chats without exactly one answer', doubled, '', 0, '0'),
    );
    return measured.map((one) => ({ ...one, on: gateway.on }));
  } finally {
    await gateway.restart();
    await telegram.close();
  }
}

async function measure(
  telegram: FakeTelegram,
  { tokenMs, chats, tokens, before }: Burst,
  people: { last: number },
): Promise<{ figure: Measured; answers: Seen[] }> {
  const text = tokenMs === 0 ? `say ${tokens}` : `pace ${1_000 / tokenMs} ${tokens}`;
  const ask = async (): Promise<Seen> => {
    const id = String((people.last += 1));
    return await seen(lookAt(telegram, id), text, () => telegram.says(id, text, id));
  };
  const [callsBefore, since] = [calls(telegram), performance.now()];
  const answers: Seen[] = [];
  if (chats === 1) for (let nth = 0; nth < ALONE; nth += 1) answers.push(await ask());
  else answers.push(...(await Promise.all(Array.from({ length: chats }, ask))));
  const took = (performance.now() - since) / 1_000;
  const made = calls(telegram) - callsBefore;
  await quiet();
  const whole = answers.map(({ lastMs }) => lastMs);
  const note =
    `p50 / p99 ${spread(firstOf(answers))}; whole ${spread(whole)}; ${(made / took).toFixed(1)} calls/s, ` +
    `${(made / answers.length - 1).toFixed(1)} edits a message; before: ${before} calls/s`;
  const what = `Telegram, ${chats} at once, ${tokens} tokens of ${tokenMs} ms: first text`;
  return { figure: { what, value: median(firstOf(answers)), unit: 'ms', note }, answers };
}
