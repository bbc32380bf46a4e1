/**
 * `npm run docs:screens [FOLDER]`: a picture of each network (`test/.tmp/screens` by default), drawn from what its strict fake has
 * received: a long answer, a plan, a request for approval, an error, a stopped answer; and one conversation on all of them at the
 * same moment; and a rich message of Telegram beside the same as normal messages. For people who judge how it reads. Needs Chromium.
 */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { openPage, signIn } from '../../channels/http/page/browser/browser.ts';
import { riskyTools } from '../../fakes/agent/risky-tools.ts';
import { FakeDiscord } from '../../fakes/discord/discord.ts';
import { FakeHomeserver } from '../../fakes/matrix/homeserver.ts';
import { FakeSlack } from '../../fakes/slack/slack.ts';
import { FakeTelegram } from '../../fakes/telegram/telegram.ts';
import { variablesOf } from '../../fakes/networks.ts';
import { openDrawnGateway } from '../drawn-gateway.ts';
import { ROOT } from '../pages.ts';
import { drawDiscord, drawMatrix, type Drawn, drawSlack, drawTelegram, pageOf } from './draw.ts';
import { LONG_ANSWER, RICH_ANSWER, SHARED_ANSWER } from './answers.ts';

const { positionals } = parseArgs({ allowPositionals: true });
const FOLDER = path.resolve(positionals[0] ?? path.join(ROOT, 'test/.tmp/screens'));
const TOKEN = 'a-token-for-the-screens-0123456789';
const PERSON = '1001';
const WAIT_MS = 60_000;

interface Chat {
  says: (text: string) => unknown;
  commands: (text: string) => unknown;
  drawn: () => Drawn[];
  /** Replies that only their sender sees, as text. */
  hidden?: () => string;
}

const open = { dm: 'open' };
const [telegram, discord, slack, matrix] = await Promise.all([
  FakeTelegram.start(),
  FakeDiscord.open(),
  FakeSlack.open(),
  FakeHomeserver.open(),
]);
const drawn = await openDrawnGateway({
  settings: {
    access: { telegram: open, discord: open, slack: open, matrix: open },
    limits: { messagesPerMinute: 600, messagesAtOnce: 60 },
    channels: {
      slack: { editsPerSecond: { start: 20, most: 20 } },
    },
    tools: { enabled: ['list_dir', 'read_file', 'write_file', 'todo', 'wipe'] },
    turns: { mode: 'agentic' },
  },
  env: { GATEWAY_TOKEN: TOKEN, ...variablesOf({ telegram, discord, slack, matrix }) },
  platforms: [telegram, discord, slack, matrix],
  tools: riskyTools([]),
});
const { gateway, model, browser } = drawn;
try {
  await mkdir(FOLDER, { recursive: true });
  await until(
    () => 'all channels are up',
    async () => Object.values((await gateway.health()).channels).every(({ state }) => state === 'up'),
  );
  const chats = openChats();
  for (const [name, chat] of Object.entries(chats)) await takeChat(name, chat);
  await takeRich();
  await takeShared(chats);
  process.stdout.write(`The pictures are in ${FOLDER}.\n`);
} finally {
  await drawn.close();
}

function openChats(): Record<string, Chat> {
  const dm = discord.dm('Ada');
  const direct = slack.workspace.dm('Ada');
  const ada = matrix.rooms.person('Ada');
  const room = matrix.rooms.room(ada);
  return {
    Telegram: {
      says: (text) => telegram.says(PERSON, text, PERSON),
      commands: (text) => telegram.says(PERSON, `/${text}`, PERSON),
      drawn: () => drawTelegram(telegram, PERSON),
    },
    Discord: {
      says: (text) => discord.says(dm.channel, text, dm.person),
      commands: (text) => discord.says(dm.channel, `/${text}`, dm.person),
      drawn: () => drawDiscord(discord, dm.channel),
    },
    Slack: {
      says: (text) => slack.says(direct.chat, text, direct.person),
      commands: (text) => slack.commands(direct.chat, text, direct.person),
      drawn: () => drawSlack(slack, direct.chat),
      hidden: () => JSON.stringify([...slack.answers.values()]),
    },
    Matrix: {
      says: (text) => matrix.says(room, text, ada),
      commands: (text) => matrix.says(room, `!${text}`, ada),
      drawn: () => drawMatrix(matrix, room),
    },
  };
}

/** Everything that a chat shows, in three columns. */
async function takeChat(name: string, chat: Chat): Promise<void> {
  const part = async (text: string, last: string, commands = false, also = ''): Promise<Drawn[]> => {
    const before = chat.drawn().length;
    if (commands) chat.commands(text);
    else chat.says(text);
    await shows(chat, last, before);
    await shows(chat, also, before);
    return chat.drawn().slice(before);
  };
  scripted(`tell of stones on ${name}`, { text: LONG_ANSWER });
  const long = await part(`tell of stones on ${name}`, 'That is all.');
  const plan = await part('plan a picnic', 'for real answers.', false, 'Completed');
  scripted(
    `tidy up on ${name}`,
    { toolCalls: [{ name: 'wipe', args: { word: 'old drafts' } }] },
    { text: 'I left the old drafts alone.' },
  );
  const approval = await part(`tidy up on ${name}`, 'May I do this');
  const denied = await part('deny They are still needed.', 'left the old drafts alone', true);
  const failure = { kind: 'status', status: 400, error: 'this model is broken' } as const;
  scripted(`fail on ${name}`, ...Array.from({ length: 5 }, () => ({ failure })));
  const failed = await part(`fail on ${name}`, 'model');
  scripted(`stop on ${name}`, { text: LONG_ANSWER, perSecond: 15 });
  const before = chat.drawn().length;
  await part(`stop on ${name}`, 'stone falls');
  chat.commands('stop');
  await shows(chat, 'stopped', before);
  const stopped = chat.drawn().slice(before);
  const columns = {
    [`${name}: a long answer`]: long,
    'a plan, and how it ends': plan,
    'approval, its end, an error, a stopped answer': [...approval, ...denied, ...failed, ...stopped],
  };
  await save(name.toLowerCase(), pageOf(columns), 1_500);
}

/** The same answer on a Telegram that knows rich messages, and in a chat that gets normal ones. */
async function takeRich(): Promise<void> {
  const drawnFor = async (person: string, isRich: boolean): Promise<Drawn[]> => {
    telegram.knowsRich = isRich;
    const question = `explain stones to ${person}`;
    scripted(question, { text: RICH_ANSWER });
    telegram.says(person, question, person);
    const drawn = (): Drawn[] => drawTelegram(telegram, person);
    const isWhole = (): boolean => drawn().some(({ html }) => html.includes('That is all.'));
    await until(() => `${person} got the answer, but ${JSON.stringify(drawn())}`, isWhole);
    return drawn();
  };
  const columns = {
    'Telegram: a rich message': await drawnFor('1002', true),
    'the same as normal messages': await drawnFor('1003', false),
  };
  await save('telegram-rich', pageOf(columns), 1_100);
}

/** One conversation on every network and on the page, while its answer is half written, and at its end. */
async function takeShared(chats: Readonly<Record<string, Chat>>): Promise<void> {
  const key = 'http:shared';
  const call = async (route: string, json: object): Promise<Record<string, { id?: string }>> => {
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
    const answer = await fetch(`${gateway.url}${route}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(json),
    });
    return await answer.json();
  };
  await call(`/v1/sessions/${key}/messages`, { content: 'Hello!' });
  await until(
    () => 'the first answer is there',
    async () => {
      const headers = { authorization: `Bearer ${TOKEN}` };
      const answer = await fetch(`${gateway.url}/v1/sessions/${key}/messages`, { headers });
      const { messages = [] }: { messages?: { role: string }[] } = await answer.json();
      return messages.some(({ role }) => role === 'assistant');
    },
  );
  for (const chat of Object.values(chats)) {
    const before = chat.drawn().length;
    const found = (): RegExpExecArray | null =>
      /link ([0-9A-Z]{5}-[0-9A-Z]{5})/.exec(
        (chat.hidden?.() ?? '') + JSON.stringify(chat.drawn().slice(before)),
      );
    chat.commands('link');
    await until(
      () => 'a code is shown',
      () => found() !== null,
    );
    const { asks } = await call(`/v1/sessions/${key}/link`, { code: found()?.[1] });
    await call(`/v1/links/${asks?.id ?? ''}`, { session: key, agree: true });
    chat.commands('link yes');
    await shows(chat, 'now shares this conversation', before);
  }
  const { page } = await openPage(browser, `${gateway.url}/#${key}`, {
    viewport: { width: 700, height: 1_100 },
  });
  await signIn(page, TOKEN);
  const from = Object.fromEntries(Object.entries(chats).map(([name, chat]) => [name, chat.drawn().length]));
  scripted('How fast do stones fall?', { text: SHARED_ANSWER, failure: { kind: 'hang', after: 30 } });
  chats['Slack']?.says('How fast do stones fall?');
  const drawn = (): string =>
    pageOf(
      Object.fromEntries(Object.entries(chats).map(([name, chat]) => [name, chat.drawn().slice(from[name])])),
    );
  for (const [name, chat] of Object.entries(chats)) await shows(chat, 'stone falls', from[name] ?? 0);
  await save('shared-growing', drawn(), 1_500);
  await page.screenshot({ path: path.join(FOLDER, 'shared-growing-page.png') });
  model.calls.at(-1)?.release();
  for (const [name, chat] of Object.entries(chats)) await shows(chat, 'That is all.', from[name] ?? 0);
  await save('shared-done', drawn(), 1_500);
  await page.getByText('That is all.').first().waitFor();
  await page.screenshot({ path: path.join(FOLDER, 'shared-done-page.png') });
}

/** What the model answers to a question: first that it needs no plan. */
function scripted(when: string, ...answers: Parameters<typeof model.answer>[0][]): void {
  for (const answer of [{ text: 'DIRECT' }, ...answers]) model.answer(answer, { when });
}

async function shows(chat: Chat, text: string, from: number): Promise<void> {
  const shown = (): string[] =>
    chat
      .drawn()
      .slice(from)
      .map(({ html }) => html);
  await until(
    () => `"${text}" is shown, but ${JSON.stringify(shown())}`,
    () => shown().some((html) => html.includes(text)),
  );
}

/** Throws after a minute. */
async function until(what: () => string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = performance.now() + WAIT_MS; performance.now() < end; await pause(50))
    if (await holds()) return;
  throw new Error(`It did not come about that ${what()}.`);
}

async function save(name: string, html: string, width: number): Promise<void> {
  const page = await browser.newPage({ viewport: { width, height: 400 } });
  await page.setContent(html);
  await page.screenshot({ path: path.join(FOLDER, `${name}.png`), fullPage: true });
  await page.close();
}
