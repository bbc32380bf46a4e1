/** Row `chats`: when Telegram and Discord users see an answer, how many calls it takes, and how many show nothing new. */
import { FakeDiscord } from '../../fakes/discord/discord.ts';
import type { FakeChannel, FakePerson } from '../../fakes/discord/platform.ts';
import { FAKE_TOKEN, FakeTelegram } from '../../fakes/telegram/telegram.ts';
import { type Figure, median, quantile } from '../figures.ts';
import type { RunningGateway } from '../gateway-setup.ts';
import {
  askedWithin,
  figure,
  firstOf,
  lastOf,
  type Look,
  type Measured,
  quiet,
  sameTexts,
  seen,
  type Seen,
} from './screens.ts';

const GROUP = '-500';
/** A model with 50 tokens a second: `word12 ` each. */
const SHORT = 'pace 50 4';
const USUAL = 'pace 50 40';
/** What streams while new chats start: eight a second for this long, 40 tokens a second. */
const LONG = 'pace 40 200';
const NEW_CHATS = 120;
const EVERY_MS = 125;
const ASKERS = 8;
const THREADS = 16;
/** Discord's channel limits, as observed by clients. */
export const FIVE = { limit: 5, windowMs: 5_000 };

export async function chatsOnScreen(gateway: RunningGateway): Promise<Figure[]> {
  const telegram = await FakeTelegram.start();
  const discord = await FakeDiscord.open({ limits: { send: FIVE, edit: FIVE } });
  const channel = discord.platform.addChannel(0);
  const settings = {
    access: {
      telegram: { dm: 'open', groups: { [GROUP]: { mention: false } } },
      discord: { dm: 'open', groups: { [channel.id]: { mention: true } } },
    },
  };
  const env = {
    TELEGRAM_BOT_TOKEN: FAKE_TOKEN,
    TELEGRAM_API_ROOT: telegram.root,
    DISCORD_BOT_TOKEN: discord.token,
    DISCORD_API_ROOT: discord.apiRoot,
  };
  await gateway.restart(env, settings);
  try {
    const measured = [...(await onTelegram(telegram)), ...(await onDiscord(discord, channel))];
    return measured.map((figure) => ({ ...figure, on: gateway.on }));
  } finally {
    await gateway.restart();
    await telegram.close();
    await discord.close();
  }
}

async function onTelegram(telegram: FakeTelegram): Promise<Measured[]> {
  let people = 10_000;
  const inPrivate = async (text: string): Promise<Seen> => {
    const id = String((people += 1));
    return await seen(lookAt(telegram, id), text, () => telegram.says(id, text, id));
  };
  for (let nth = 0; nth < 5; nth += 1) await inPrivate(SHORT);
  const before = calls(telegram);
  for (let nth = 0; nth < 10; nth += 1) await inPrivate(SHORT);
  const short = (calls(telegram) - before) / 10;
  const alone: Seen[] = [];
  for (let nth = 0; nth < 10; nth += 1) alone.push(await inPrivate(USUAL));
  const busy = await askedWithin(NEW_CHATS, NEW_CHATS * EVERY_MS, () => inPrivate(LONG));
  const inGroup = Array.from({ length: ASKERS }, (_, nth) => {
    const text = `${nth}: ${USUAL}`;
    return seen(
      () => lookAt(telegram, GROUP)().slice(nth, nth + 1),
      text,
      () => telegram.says(GROUP, text, String((people += 1))),
    );
  });
  const group = await Promise.all(inGroup);
  await quiet();
  return [
    figure('Telegram: calls of a short answer', short, '', 1, '2'),
    figure('Telegram: first text, one chat', median(firstOf(alone)), 'ms', 450, '1,030 ms'),
    figure('Telegram: first text, 8 new chats a second, p50', median(firstOf(busy)), 'ms', 350, '1,941 ms'),
    figure(
      'Telegram: first text, 8 new chats a second, p99',
      quantile(firstOf(busy), 0.99),
      'ms',
      600,
      '2,172 ms',
    ),
    figure(`Telegram: ${ASKERS} askers in a group, last answer`, lastOf(group) / 1_000, 's', 25, '43.5 s'),
    figure('Telegram: calls that showed what was there', telegram.chats.unmodified, '', 0, 'half of them'),
  ];
}

async function onDiscord(discord: FakeDiscord, channel: FakeChannel): Promise<Measured[]> {
  const alone: Seen[] = [];
  for (let nth = 0; nth < 10; nth += 1) {
    const { channel: dm, person } = discord.dm();
    alone.push(await askOnDiscord(discord, dm, person, USUAL));
  }
  const threads = Array.from({ length: THREADS }, () => discord.platform.addThread(channel));
  const together = await Promise.all(
    threads.map((thread, nth) => askOnDiscord(discord, thread, discord.person(`Bo ${nth}`), 'pace 50 240')),
  );
  await quiet();
  return [
    figure('Discord: first text, one chat', median(firstOf(alone)), 'ms', 350, '1,228 ms'),
    figure(
      `Discord: first text, ${THREADS} threads, p99`,
      quantile(firstOf(together), 0.99),
      'ms',
      2_000,
      '25,285 ms',
    ),
    figure(
      `Discord: whole answer of 5 s, ${THREADS} threads, last`,
      lastOf(together) / 1_000,
      's',
      7,
      '25 s',
    ),
    figure('Discord: calls that showed what was there', sameTexts([...alone, ...together], true), '', 0),
    figure('Discord: refused calls', discord.limits.refused, '', 0),
  ];
}

/** Asks in a channel on Discord, and waits for the whole answer. */
export async function askOnDiscord(
  discord: FakeDiscord,
  place: FakeChannel,
  person: FakePerson,
  text: string,
): Promise<Seen> {
  const look: Look = () =>
    (discord.platform.messages.get(place.id) ?? [])
      .filter(({ author }) => author.bot === true)
      .map(({ history, historyAt }) => ({ texts: history, shownAt: historyAt }));
  return await seen(look, text, () => discord.says(place, text, person, { mention: place.type !== 1 }));
}

/** What a chat on Telegram shows. */
export function lookAt(telegram: FakeTelegram, chatId: string): Look {
  return () => telegram.messages(chatId).map(({ shown, shownAt }) => ({ texts: shown, shownAt }));
}

/** Calls that showed something. */
export function calls(telegram: FakeTelegram): number {
  return telegram.count('sendMessage') + telegram.count('editMessageText');
}
