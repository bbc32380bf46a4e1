/** Row `many`: many chats stream at once, against platform limits that the gateway does not know. */
import { FakeDiscord } from '../../fakes/discord/discord.ts';
import type { FakeChannel } from '../../fakes/discord/platform.ts';
import { FakeHomeserver } from '../../fakes/matrix/homeserver.ts';
import { FakeSlack } from '../../fakes/slack/slack.ts';
import { variablesOf } from '../../fakes/networks.ts';
import { KNOWN_LIMITS } from '../../fakes/telegram/limits.ts';
import { FakeTelegram } from '../../fakes/telegram/telegram.ts';
import { askOnDiscord, calls, FIVE, lookAt } from './chats.ts';
import { type Figure, median, quantile } from '../figures.ts';
import type { RunningGateway } from '../gateway-setup.ts';
import {
  askedWithin,
  figure,
  firstOf,
  lastOf,
  type Measured,
  noted,
  quiet,
  sameTexts,
  seen,
  type Seen,
  spread,
} from './screens.ts';

/** Answers of twelve seconds, ten of which start per second. */
const ANSWER = 'pace 20 240';
const ANSWER_MS = 12_000;
const BEGIN_EVERY_MS = 100;
/** How many chats ask; more than 100 of the answers stream at once. */
const CHATS = 200;
/** Slack allows 50 edits a minute in a whole workspace, and a homeserver ten events a second. */
const FEWER_CHATS = 16;
const FEWER_EVERY_MS = 625;
/** An answer that is complete later than this after the model's end has starved. */
const STARVED_MS = 15_000;
/** Half of the Discord chats are threads in this many channels. */
const CHANNELS = 5;

/** Concurrent answers in Discord chats new to the gateway: the way the first version was measured. */
const FIRST_CONTACTS: readonly [chats: number, inThreads: boolean, before: string][] = [
  [16, false, '1,312-1,481 / 1,472-1,647; last words 510 / 795 ms late'],
  [64, false, '3,348 / 5,832; last words 2,866 / 5,347 ms late'],
  [4, true, '3,764 / 4,962; last words 2,399 / 3,602 ms late'],
];
const FIRST_CONTACT = 'pace 50 240';
const FIRST_CONTACT_MS = 4_800;

interface Network {
  name: string;
  chats: number;
  everyMs: number;
  /** The bar for half of the first texts, where the platform's own limit is not the bottleneck. */
  firstWithinMs?: number;
  ask: (nth: number) => Promise<Seen>;
  /** Calls that show something, and those that were refused, so far. */
  counts: () => { calls: number; refused: number };
}

export async function manyChatsOnScreen(gateway: RunningGateway): Promise<Figure[]> {
  const telegram = await FakeTelegram.start({ limits: KNOWN_LIMITS });
  const discord = await FakeDiscord.open({ limits: { send: FIVE, edit: FIVE } });
  const slack = await FakeSlack.open({ limits: true });
  const matrix = await FakeHomeserver.open({ limits: true });
  const parents = Array.from({ length: CHANNELS }, () => discord.platform.addChannel(0));
  const groups = Object.fromEntries(parents.map(({ id }) => [id, { mention: true }]));
  const open = { dm: 'open' };
  const access = { telegram: open, discord: { ...open, groups }, slack: open, matrix: open };
  await gateway.restart(variablesOf({ telegram, discord, slack, matrix }), { access });
  try {
    const measured: Measured[] = [];
    for (const network of [
      onTelegram(telegram),
      onDiscord(discord, parents),
      onSlack(slack),
      onMatrix(matrix),
    ])
      measured.push(...(await measure(network)));
    measured.push(...(await firstContacts(discord, parents)));
    return measured.map((one) => ({ ...one, on: gateway.on }));
  } finally {
    await gateway.restart();
    for (const fake of [telegram, discord, slack, matrix]) await fake.close();
  }
}

async function measure({ name, chats, everyMs, firstWithinMs, ask, counts }: Network): Promise<Measured[]> {
  const before = counts();
  const answers = await askedWithin(chats, chats * everyMs, ask);
  await quiet();
  const after = counts();
  const [made, refused] = [after.calls - before.calls, after.refused - before.refused];
  const late = answers.map(({ lastMs }) => lastMs - ANSWER_MS);
  const what = `${name}, ${chats === CHATS ? '100' : chats} chats at once`;
  const first = firstOf(answers);
  return [
    {
      what: `${what}: first text, p50`,
      value: median(first),
      unit: 'ms',
      ...(firstWithinMs !== undefined && { bar: { atMost: firstWithinMs } }),
      note: `p50 / p99 ${spread(first)}`,
    },
    {
      ...figure(`${what}: starved`, late.filter((ms) => ms > STARVED_MS).length, '', 0),
      note: `last words after the model's end ${spread(late)}, most ${Math.round(Math.max(...late))} ms`,
    },
    {
      ...figure(`${what}: refused calls`, (100 * refused) / made, '%', 1),
      note: `${refused} of ${made}; ${(made / chats).toFixed(1)} calls an answer`,
    },
    figure(`${what}: calls that showed what was there`, sameTexts(answers, name === 'Discord'), '', 0),
  ];
}

function onTelegram(telegram: FakeTelegram): Network {
  return {
    name: 'Telegram',
    chats: CHATS,
    everyMs: BEGIN_EVERY_MS,
    firstWithinMs: 500,
    async ask(nth) {
      const id = String(30_000 + nth);
      return await seen(lookAt(telegram, id), ANSWER, () => telegram.says(id, ANSWER, id));
    },
    counts: () => ({ calls: calls(telegram), refused: telegram.flood.refused }),
  };
}

function onDiscord(discord: FakeDiscord, parents: readonly FakeChannel[]): Network {
  return {
    name: 'Discord',
    chats: CHATS,
    everyMs: BEGIN_EVERY_MS,
    firstWithinMs: 500,
    async ask(nth) {
      const parent = parents[nth % CHANNELS];
      const isDirect = nth % 2 === 0 || parent === undefined;
      const { channel, person } = isDirect
        ? discord.dm()
        : { channel: discord.platform.addThread(parent), person: discord.person(`Bo ${nth}`) };
      return await askOnDiscord(discord, channel, person, ANSWER);
    },
    counts: () => ({ calls: shows(discord.rest.calls), refused: discord.limits.refused }),
  };
}

function onSlack(slack: FakeSlack): Network {
  return {
    name: 'Slack',
    chats: FEWER_CHATS,
    everyMs: FEWER_EVERY_MS,
    async ask(nth) {
      const { chat, person } = slack.workspace.dm(`Ada ${nth}`);
      const look = noted(() => slack.screen(chat));
      return await seen(look, ANSWER, () => slack.says(chat, ANSWER, person));
    },
    counts: () => ({
      calls: slack.calls.filter((method) => /^chat\.(?:postMessage|update)$/.test(method)).length,
      refused: slack.limits.refused,
    }),
  };
}

function onMatrix(matrix: FakeHomeserver): Network {
  return {
    name: 'Matrix',
    chats: FEWER_CHATS,
    everyMs: FEWER_EVERY_MS,
    async ask(nth) {
      const person = matrix.rooms.person(`Ada ${nth}`);
      const room = matrix.rooms.room(person);
      const look = noted(() => matrix.screen(room));
      return await seen(look, ANSWER, () => matrix.says(room, ANSWER, person));
    },
    counts: () => ({
      calls: matrix.calls.filter((call) => call.includes('/send/m.room.message/')).length,
      refused: matrix.limits.refused,
    }),
  };
}

async function firstContacts(discord: FakeDiscord, [parent]: readonly FakeChannel[]): Promise<Measured[]> {
  const measured: Measured[] = [];
  for (const [chats, inThreads, before] of FIRST_CONTACTS) {
    const asked = Array.from({ length: chats }, async (_, nth) => {
      const channel =
        inThreads && parent !== undefined ? discord.platform.addThread(parent) : discord.dm().channel;
      return await askOnDiscord(discord, channel, discord.person(`Cy ${nth}`), FIRST_CONTACT);
    });
    const answers = await Promise.all(asked);
    await quiet();
    const first = firstOf(answers);
    const late = answers.map(({ lastMs }) => lastMs - FIRST_CONTACT_MS);
    measured.push({
      what: `Discord, ${chats} ${inThreads ? 'threads of a channel' : 'chats'} in the same instant: first text, p99`,
      value: quantile(first, 0.99),
      unit: 'ms',
      note: `p50 / p99 ${spread(first)}; last words ${spread(late)} ms late, whole after ${Math.round(lastOf(answers))} ms; before: ${before}`,
    });
  }
  return measured;
}

function shows(requests: readonly string[]): number {
  return requests.filter((call) => /^(?:POST|PATCH) \S*\/messages(?:\/|$)/.test(call)).length;
}
