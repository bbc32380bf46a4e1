/** Drafts beside messages that grow, in private chats of Telegram under the limits that are known: what the default is decided by. */
import { KNOWN_LIMITS } from '../fakes/telegram/limits.ts';
import { FAKE_TOKEN, FakeTelegram } from '../fakes/telegram/telegram.ts';
import type { Figure } from './figures.ts';
import { median, quantile } from './figures.ts';
import type { RunningGateway } from './gateway-setup.ts';
import { askedWithin, firstOf, quiet, seen, spread } from './screens.ts';
import type { Look, Measured } from './screens.ts';

/** An answer of five seconds; eight begin in a second, so that some forty grow at once. */
const ANSWER = 'pace 40 200';
const ANSWER_MS = 5_000;
const CHATS = 80;
const EVERY_MS = 125;
/** An answer that is whole later than this after the model's end has starved. */
const STARVED_MS = 15_000;

type Mode = 'edit' | 'draft';

/** First text, calls, refusals and starved answers of both. */
export async function draftsBesideEdits(gateway: RunningGateway): Promise<Figure[]> {
  const measured: Measured[] = [];
  for (const mode of ['edit', 'draft'] as const) measured.push(...(await inMode(gateway, mode)));
  return measured.map((figure) => ({ ...figure, on: gateway.on }));
}

async function inMode(gateway: RunningGateway, mode: Mode): Promise<Measured[]> {
  const telegram = await FakeTelegram.start({ limits: KNOWN_LIMITS });
  const env = { TELEGRAM_BOT_TOKEN: FAKE_TOKEN, TELEGRAM_API_ROOT: telegram.root };
  const settings = {
    access: { telegram: { dm: 'open' } },
    channels: { telegram: { stream: mode } },
  };
  await gateway.restart(env, settings);
  try {
    return await measure(telegram, mode);
  } finally {
    await gateway.restart();
    await telegram.close();
  }
}

async function measure(telegram: FakeTelegram, mode: Mode): Promise<Measured[]> {
  const answers = await askedWithin(CHATS, CHATS * EVERY_MS, async (nth) => {
    const id = String(40_000 + nth);
    return await seen(look(telegram, id), ANSWER, () => telegram.says(id, ANSWER, id));
  });
  await quiet();
  const calls = ['sendMessage', 'editMessageText', 'sendMessageDraft'].map((name) => telegram.count(name));
  const made = calls.reduce((sum, count) => sum + count, 0);
  const late = answers.map(({ lastMs }) => lastMs - ANSWER_MS);
  const first = firstOf(answers);
  const what = `Telegram, ${CHATS} private chats, ${mode}`;
  return [
    {
      what: `${what}: first text, p50`,
      value: median(first),
      unit: 'ms',
      note: `p50 / p99 ${spread(first)}`,
    },
    {
      what: `${what}: calls an answer`,
      value: made / CHATS,
      unit: '',
      note: `sent / edited / drafts ${calls.join(' / ')}`,
    },
    {
      what: `${what}: looks an answer`,
      value: median(answers.map(({ texts }) => texts.length)),
      unit: '',
      note: 'how often the text grew before its reader',
    },
    {
      what: `${what}: refused calls`,
      value: (100 * telegram.flood.refused) / made,
      unit: '%',
      bar: { atMost: 1 },
    },
    {
      what: `${what}: starved`,
      value: late.filter((ms) => ms > STARVED_MS).length,
      unit: '',
      bar: { atMost: 0 },
      note: `whole after the model's end, p99 ${Math.round(quantile(late, 0.99))} ms`,
    },
  ];
}

/** What stands in the chat: the drafts with words, then the message. */
function look(telegram: FakeTelegram, id: string): Look {
  return () => {
    const drafts = telegram.drafts.shown(id).filter(({ text }) => text !== '');
    const messages = telegram.messages(id);
    if (drafts.length === 0) return messages.map(({ shown, shownAt }) => ({ texts: shown, shownAt }));
    const [message = { shown: [], shownAt: [] }] = messages;
    return [
      {
        texts: [...drafts.map(({ text }) => text), ...message.shown],
        shownAt: [...drafts.map(({ at }) => at), ...message.shownAt],
      },
    ];
  };
}
