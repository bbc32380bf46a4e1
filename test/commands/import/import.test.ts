/** What holds for every import: nothing comes twice, nothing is trusted, bad input loses nothing, and every bound is told. */
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { collectTurns, timeIn } from '../../../src/commands/import/chat-turns.ts';
import { MAX_CHAT_TURNS, MAX_LINE_BYTES, MAX_MESSAGE_CHARS } from '../../../src/commands/import/items.ts';
import { whenOfRule } from '../../../src/commands/import/repeat-rule.ts';
import { MAX_UNVERIFIED_MEMORIES } from '../../../src/protocol/store/notes.ts';
import type { SessionKey } from '../../../src/protocol/message.ts';
import { parley, startGatewayProcess } from '../../child.ts';
import { describeStore, makeEmbeddedHome, type TestStore } from '../../database.ts';
import { accepted, LEASE_MS, only } from '../../store/lanes/turns.ts';
import { request } from '../../store/requests.ts';
import { entry, folderOf, job, transcript, writeSqlite } from './folders.ts';
import { importer } from './run.ts';

const SESSION = 'agents/main/sessions/s1.jsonl';

/** A folder of OpenClaw with one of everything. */
function wholeFolder(): string {
  return folderOf({
    [SESSION]: transcript(entry('a', null, 'user', 'Where?'), entry('b', 'a', 'assistant', 'There.')),
    'cron/jobs.json': JSON.stringify({ jobs: [job('j', { kind: 'every', everyMs: 3_600_000 })] }),
    'workspace/MEMORY.md': '- A fact.\n',
    'workspace/SOUL.md': 'Be kind.',
    'workspace/skills/tea/SKILL.md': 'Brew.',
  });
}

async function onlyChat(store: TestStore): Promise<SessionKey> {
  const [row] = await store.sql<{ key: SessionKey }[]>`select key from session where message_seq > 0`;
  if (row === undefined) throw new Error('there is no chat');
  return row.key;
}

describeStore('an import', (databases) => {
  it('brings nothing twice', async () => {
    const store = await databases.open();
    const { run, chats } = await importer(store);
    const folder = wholeFolder();
    await run('openclaw', folder, '--prompts');
    const before = await chats();
    const text = await run('openclaw', folder, '--prompts');
    for (const kind of ['chats', 'memories', 'schedules', 'prompt files', 'skills'])
      expect(text).toContain(`0 new ${kind}, 1 already here`);
    expect(await chats()).toEqual(before);
    expect(await store.schedules.schedules({ limit: 10 })).toHaveLength(1);
  });

  it('changes nothing in a dry run, and says what would come', async () => {
    const store = await databases.open();
    const { run, home, chats } = await importer(store);
    const text = await run('openclaw', wholeFolder(), '--prompts', '--dry-run');
    expect(text).toContain('1 new chat');
    expect(text).toContain('1 new schedule');
    expect(text).toContain('1 new skill');
    expect(text).toContain('This was a dry run: nothing was changed.');
    expect(await chats()).toEqual([]);
    expect(await store.schedules.schedules({ limit: 10 })).toEqual([]);
    expect(existsSync(path.join(home, 'workspace'))).toBe(false);
  });

  it('makes chats that the model continues, as text of others', async () => {
    const store = await databases.open();
    const { run, tokenId } = await importer(store);
    await run('openclaw', wholeFolder());
    const key = await onlyChat(store);
    const session = await store.ledger.session(key);
    expect(session).toMatchObject({ ownerTokenId: tokenId, sources: ['local'], messageCount: 2, readSeq: 2 });
    const node = await store.lanes.register('reader', LEASE_MS);
    const message = request('next', { channel: 'http', chatId: key.slice('http:'.length) }, node);
    const result = accepted(await store.ledger.accept({ ...message, ownerTokenId: tokenId }));
    const { history } = await store.ledger.openTurn(only(result), result.turnId, 50);
    expect(history.map(({ entry: row }) => row)).toMatchObject([
      { kind: 'user', content: 'Where?', sources: ['local'] },
      { kind: 'assistant', content: 'There.', model: 'gpt-5.2', sources: ['local'] },
    ]);
  });

  it('keeps the files of the workspace that differ, and says so', async () => {
    const { run, home } = await importer(await databases.open());
    mkdirSync(path.join(home, 'workspace/skills/tea'), { recursive: true });
    writeFileSync(path.join(home, 'workspace/SOUL.md'), 'Mine.');
    writeFileSync(path.join(home, 'workspace/skills/tea/SKILL.md'), 'Mine.');
    const text = await run('openclaw', wholeFolder(), '--prompts');
    expect(text).toMatch(/SOUL\.md: there is another one in .*compare the two by hand/);
    expect(text).toMatch(/the skill tea: there is another one in/);
    expect(readdirSync(path.join(home, 'workspace/skills'))).toEqual(['tea']);
  });

  it('lets no more facts wait to be confirmed than the memory has room for', async () => {
    const store = await databases.open();
    const { run, tokenId } = await importer(store);
    const facts = Array.from({ length: MAX_UNVERIFIED_MEMORIES + 1 }, (_, n) => `- Fact ${n}.\n`);
    const folder = folderOf({ 'workspace/MEMORY.md': facts.join('') });
    expect(await run('openclaw', folder, '--dry-run')).toContain(`${MAX_UNVERIFIED_MEMORIES} new memories`);
    const text = await run('openclaw', folder);
    expect(text).toContain(`${MAX_UNVERIFIED_MEMORIES} new memories`);
    expect(text).toMatch(/a fact: at most 20 facts wait to be confirmed/);
    const [newest] = await store.memories.memories(`token:${tokenId}`, 1);
    await store.memories.verifyMemory(`token:${tokenId}`, newest?.id ?? 0);
    expect(await run('openclaw', folder)).toContain('1 new memory, 20 already here');
  });

  it('follows no link out of the folder', async () => {
    const { run, chats } = await importer(await databases.open());
    const elsewhere = wholeFolder();
    const folder = folderOf({ 'openclaw.json': '{}', 'agents/main/sessions/sessions.json': '{}' });
    symlinkSync(path.join(elsewhere, SESSION), path.join(folder, SESSION));
    symlinkSync(path.join(elsewhere, 'workspace'), path.join(folder, 'workspace'));
    symlinkSync(path.join(elsewhere, 'cron'), path.join(folder, 'cron'));
    const text = await run('openclaw', folder, '--prompts');
    expect(text).toContain('Nothing was found to import.');
    expect(await chats()).toEqual([]);
  });

  it('reads the lines that are whole, and counts the others', async () => {
    const { run, chats } = await importer(await databases.open());
    const whole = transcript(entry('a', null, 'user', 'Where?'), entry('b', 'a', 'assistant', 'There.'));
    const tooLong = `{"type":"custom","data":"${'x'.repeat(MAX_LINE_BYTES)}"}`;
    const folder = folderOf({ [SESSION]: `${whole}{"type":"mess\n[1]\n${tooLong}\n{"type":"message"` });
    const text = await run('openclaw', folder);
    expect(text).toMatch(/lines of agents\/main\/sessions\/s1\.jsonl: 4 are no JSON objects, or too long/);
    expect(await chats()).toEqual([{ title: 'Where?', messages: ['user: Where?', 'assistant: There.'] }]);
  });

  it('says what is wrong with a database of another version, and brings the rest', async () => {
    const { run } = await importer(await databases.open());
    const folder = folderOf({ 'memories/USER.md': 'A fact' });
    writeSqlite(folder, 'state.db', [['create table sessions (id text, source text)']]);
    const text = await run('hermes', folder);
    expect(text).toMatch(/conversations in state\.db: .*no column started_at in its table sessions/);
    expect(text).toContain('1 new memory');
    writeFileSync(
      path.join(folder, 'state.db'),
      'This is not a database, whatever its name says.'.repeat(20),
    );
    expect(await run('hermes', folder)).toMatch(
      /conversations in state\.db: .*cannot be read as a SQLite database/,
    );
  });

  it.each([
    ['openclaw', /is not a folder of OpenClaw: .*usually ~\/\.openclaw/],
    ['hermes', /is not a folder of Hermes Agent: .*usually ~\/\.hermes/],
    ['nanobot', /is not a folder of nanobot: .*usually ~\/\.nanobot/],
    ['open-webui', /is not a data folder of Open WebUI: it has no webui\.db/],
  ])('refuses a folder that is none of %s', async (program, sentence) => {
    const { run } = await importer(await databases.open());
    await expect(run(program, folderOf({ 'notes.txt': 'x' }))).rejects.toThrow(sentence);
  });

  it('refuses what is no folder, and a token that does not exist', async () => {
    const { run } = await importer(await databases.open());
    const folder = folderOf({ 'notes.txt': 'x' });
    await expect(run('openclaw', path.join(folder, 'nope'))).rejects.toThrow(
      /nope cannot be opened \(ENOENT\)/,
    );
    await expect(run('openclaw', path.join(folder, 'notes.txt'))).rejects.toThrow(
      /notes\.txt is not a folder/,
    );
    await expect(run('openclaw', folder, '--token', 'x')).rejects.toThrow(/There is no token x/);
    expect(() => run('openclav', folder)).toThrow(/Did you mean openclaw/);
    expect(() => run('nanobot', folder, '--user', 'a')).toThrow(/--user is for open-webui/);
  });
});

it('takes the newest turns of a long chat, and counts the others', () => {
  const turns = collectTurns(new Date());
  for (let n = 0; n <= MAX_CHAT_TURNS; n += 1) {
    turns.add({ role: 'user', text: `q${n}`, at: undefined });
    turns.add({ role: 'assistant', text: `a${n}`, at: undefined });
  }
  const { turns: newest, olderTurns } = turns.end();
  expect(newest).toHaveLength(MAX_CHAT_TURNS);
  expect(newest[0]?.question).toBe('q1');
  expect(olderTurns).toBe(1);
});

it('shortens a message in its middle from one character too many on', () => {
  const turns = collectTurns(new Date());
  turns.add({ role: 'user', text: 'x'.repeat(MAX_MESSAGE_CHARS), at: undefined });
  turns.add({ role: 'assistant', text: 'y'.repeat(MAX_MESSAGE_CHARS + 1), at: undefined });
  const [turn] = turns.end().turns;
  expect(turn?.question).toHaveLength(MAX_MESSAGE_CHARS);
  expect(turn?.answer?.replaceAll('y', '')).toBe('\n[… 1 characters left out …]\n');
});

it('reads times in seconds, milliseconds, nanoseconds and words, and no nonsense', () => {
  const time = new Date('2026-02-06T07:49:03.000Z');
  for (const value of [time.getTime() / 1000, time.getTime(), time.getTime() * 1e6, time.toISOString()])
    expect(timeIn(value)).toEqual(time);
  for (const value of [Number.NaN, 5e246, -1, 'yesterday', null, {}]) expect(timeIn(value)).toBeUndefined();
});

it('turns the rules of calendars that a cron line can say into one, and no others', () => {
  expect(whenOfRule('DTSTART:20260101T000000\nRRULE:FREQ=WEEKLY;BYDAY=MO,FR;BYHOUR=9;BYMINUTE=15')).toEqual({
    cron: '15 9 * * 1,5',
  });
  expect(whenOfRule('FREQ=MONTHLY;BYMONTHDAY=1;BYHOUR=7')).toEqual({ cron: '0 7 1 * *' });
  expect(whenOfRule('FREQ=HOURLY;INTERVAL=2')).toEqual({ everyMinutes: 120 });
  for (const rule of [
    'FREQ=DAILY',
    'FREQ=DAILY;BYHOUR=9;COUNT=3',
    'FREQ=DAILY;INTERVAL=2;BYHOUR=9',
    'FREQ=WEEKLY;BYDAY=1MO;BYHOUR=9',
    'x',
  ])
    expect(whenOfRule(rule)).toBeUndefined();
});

it('works next to a running gateway, whose page then shows the chats', async () => {
  const home = await makeEmbeddedHome();
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const folder = wholeFolder();
  const before = await parley(['import', 'openclaw', folder], { GATEWAY_HOME: home });
  expect(before).toMatchObject({ code: 1, stderr: expect.stringContaining('start the gateway once') });
  const token = 'a-token-for-this-test-0123456789-abcdef';
  const gateway = await startGatewayProcess({
    GATEWAY_HOME: home,
    GATEWAY_TOKEN: token,
    OLLAMA_HOST: 'http://127.0.0.1:9',
  });
  const { code, stdout } = await parley(['import', 'openclaw', folder], { GATEWAY_HOME: home });
  expect(stdout).toContain('1 new chat');
  expect(code).toBe(0);
  const response = await fetch(`${gateway.url}/v1/sessions`, {
    headers: { authorization: `Bearer ${token}` },
  });
  expect(await response.text()).toContain('Where?');
});
