/** Upgrades are guaranteed: a filled database of each earlier version opens in this one with everything in it. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import journal from '../../drizzle/meta/_journal.json' with { type: 'json' };
import type { SessionKey } from '../../src/protocol/message.ts';
import { openStoreAt, type Store } from '../../src/store/store.ts';
import { describeStore, silentLog, type TestStore } from '../database.ts';

const FOLDER = fileURLToPath(new URL('../fixtures', import.meta.url));
const MIGRATIONS = fileURLToPath(new URL('../../drizzle', import.meta.url));
const FIXTURES = readdirSync(FOLDER).filter((name) => /^database-\d{4}\.sql$/.test(name));
const MAX_FIXTURE_BYTES = 100_000;
/** Tables that a fixture leaves empty: nodes share files on Postgres only, and sums need a thousand rows. */
const EMPTY = ['session_file', 'session_folder', 'usage_sum'];
const CHAT = 'telegram:42';
const ADA = 'telegram:7';

interface Upgraded {
  store: Store;
  base: TestStore;
  schema: string;
}

describe('the fixtures', () => {
  it('exist, are small, and contain no path from the machine they were created on', () => {
    expect(FIXTURES).toContain('database-0000.sql');
    for (const name of FIXTURES) {
      const text = readFileSync(`${FOLDER}/${name}`, 'utf8');
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_FIXTURE_BYTES);
      expect(text).not.toMatch(/\/(tmp|home|root|work|Users|var)\//);
    }
  });

  it('were created with the current migrations: none has changed since', () => {
    for (const name of FIXTURES) {
      const text = readFileSync(`${FOLDER}/${name}`, 'utf8');
      const version = name.slice('database-'.length, -'.sql'.length);
      const known = journal.entries.filter(({ tag }) => tag.slice(0, version.length) <= version);
      expect(known.length).toBeGreaterThan(0);
      for (const { tag, when } of known) {
        const migration = readFileSync(`${MIGRATIONS}/${tag}.sql`);
        const hash = createHash('sha256').update(migration).digest('hex');
        expect(text).toContain(`"hash": "${hash}", "created_at": ${when}`);
      }
    }
  });
});

describeStore('a database of an earlier version', (databases) => {
  const opened: Upgraded[] = [];
  afterEach(async () => {
    for (const { store, base, schema } of opened.splice(0)) {
      await store.close();
      await base.sql.unsafe(`drop schema "${schema}" cascade`);
    }
  });

  /** Loads a fixture into its own schema and opens it the way this version does at startup. */
  const upgrade = async (fixture: string): Promise<Upgraded> => {
    const base = await databases.open();
    const schema = `${base.place.schema}_upgraded`;
    const text = readFileSync(`${FOLDER}/${fixture}`, 'utf8');
    await base.sql.unsafe(`create schema "${schema}"; set search_path to "${schema}"; ${text}`);
    await base.sql.unsafe(`set search_path to "${base.place.schema}"`);
    const store = await openStoreAt({ ...base.place, schema }, { log: silentLog, migrate: true });
    opened.push({ store, base, schema });
    return { store, base, schema };
  };

  for (const fixture of FIXTURES) {
    it(`${fixture} has rows in every table of its version once it is opened`, async () => {
      const { base, schema } = await upgrade(fixture);
      const text = readFileSync(`${FOLDER}/${fixture}`, 'utf8');
      const tables = await base.sql`
        select table_name as name from information_schema.tables where table_schema = ${schema}`;
      const known = tables.filter(({ name }) => new RegExp(`create table "?${name}"? `, 'i').test(text));
      expect(known.length).toBeGreaterThan(10);
      for (const { name } of known.filter((table) => !EMPTY.includes(String(table.name)))) {
        const rows = await base.sql`select from ${base.sql(`${schema}.${String(name)}`)}`;
        expect({ name, rows: rows.length }).not.toEqual({ name, rows: 0 });
      }
    });

    it(`${fixture} keeps sessions, messages and turns`, async () => {
      const { ledger } = (await upgrade(fixture)).store;
      const keys = (await ledger.listSessions({ limit: 50 })).map(({ key }) => key).toSorted();
      const known = [
        'discord:7',
        'http:desk',
        'telegram:-100',
        CHAT,
        'telegram:43',
        'telegram:44',
        'telegram:47',
      ];
      expect(keys).toEqual(known.toSorted());
      expect(await ledger.session(CHAT)).toMatchObject({
        mode: 'agentic',
        queueMode: 'steer',
        model: 'test-model',
      });
      expect(await ledger.session('http:desk')).toMatchObject({ ownerTokenId: 'token-1', messageCount: 3 });
      const messages = await ledger.messages(CHAT, { limit: 50 });
      expect(messages.map(({ content }) => content)).toEqual([
        ...[1, 2, 3, 4].flatMap((n) => [`Question ${n}`, `Answer ${n}`]),
        'Say hello',
        'Hello, Ada.',
        'Bake bread',
        '1. Knead\n2. Bake',
        'Done.',
      ]);
      expect(messages.filter(({ isPlan }) => isPlan)).toHaveLength(1);
      expect(await ledger.turn(messages[0]?.turnId ?? '')).toMatchObject({
        state: 'done',
        reason: 'completed',
        final: { content: 'Answer 1' },
        usage: { promptTokens: 120 },
      });
      expect(await ledger.sessionOf('telegram:-200')).toBe('telegram:-100');
    });

    it(`${fixture} keeps the folders of its sessions, and those of new sessions have separate names`, async () => {
      const { ledger, lanes } = (await upgrade(fixture)).store;
      const sessions = await ledger.listSessions({ limit: 50 });
      const folders = new Map(sessions.map(({ key, folder }) => [key, folder]));
      expect([...folders].filter(([, folder]) => !/^[0-9a-f-]{36}$/.test(folder))).toEqual([]);
      const node = await lanes.register('upgraded', 60_000);
      const [head] = await lanes.sweep(node, [{ class: 'agent', free: 9 }]);
      expect(head?.payload).toMatchObject({
        session: 'telegram:44',
        folder: 'folder-44',
      });
      await ledger.deleteSession('http:desk');
      const again = await ledger.updateSession('http:desk', { mode: 'planner' }, {});
      expect(again?.folder).toMatch(/^[0-9a-f-]{36}$/);
    });

    it(`${fixture} continues what waits, runs, is parked or dead`, async () => {
      const { lanes, ledger, approvals, subagents } = (await upgrade(fixture)).store;
      expect(await ledger.queue('http:desk')).toEqual({ busy: false, waiting: 3 });
      expect(await lanes.deadLetters(9)).toMatchObject([
        { lane: 'in:discord:7', seq: 1, error: 'The gateway died 20 times.' },
      ]);
      expect(await lanes.replayDeadLetter('in:discord:7', 1)).toBe(true);
      expect(await approvals.pendingApprovals({ limit: 9 })).toMatchObject([
        { id: 'approval-1', tool: 'exec', args: { command: 'rm -r old' }, session: 'telegram:43' },
      ]);
      expect(await lanes.decide('approval-1', 'approved', ADA)).toBe(true);
      expect(await subagents.working('telegram:44')).toMatchObject([{ task: 'Look up the address' }]);

      const node = await lanes.register('upgraded', 60_000);
      const claimed = await lanes.sweep(node, [
        { class: 'in', free: 9 },
        { class: 'out', free: 9 },
        { class: 'agent', free: 9 },
      ]);
      const heads = new Map(claimed.map((head) => [head.lane, head]));
      expect([...heads.keys()].filter((lane) => !lane.startsWith('agent:')).toSorted()).toEqual(
        [
          'in:discord:7',
          'in:http:desk',
          'in:telegram:-100',
          'in:telegram:43',
          'in:telegram:44',
          `out:${CHAT}`,
          'out:telegram:43',
        ].toSorted(),
      );
      expect(heads.get('in:http:desk')?.payload).toMatchObject({ message: { content: 'Waiting 1' } });
      const open = async (session: SessionKey) => {
        const head = heads.get(`in:${session}`);
        if (head === undefined) throw new Error(`${session} is not claimed`);
        const [message] = await ledger.messages(session, { limit: 1 });
        return await ledger.openTurn(head, message?.turnId ?? '', 50, ADA);
      };
      const parked = await open('telegram:43');
      expect(parked.approvals).toMatchObject([{ id: 'approval-1', decision: 'approved', digest: 'd1' }]);
      const running = await open('telegram:44');
      expect(running.journal.map(({ entry }) => entry.kind)).toEqual(['user', 'assistant', 'tool_intent']);
      expect(running.placeholders).toEqual([{ id: '2001' }]);
      expect(running.remembers).toBe(true);
      const delivery = heads.get(`out:${CHAT}`);
      expect(delivery?.payload).toMatchObject({ message: { content: 'The first part. The second part.' } });
      expect(await ledger.sentParts(delivery?.dedupe ?? '')).toEqual([{ id: '1002' }]);
    });

    it(`${fixture} keeps the context with its summary, the plan, todos and notes`, async () => {
      const { contexts, plans, todos, scratchpad } = (await upgrade(fixture)).store;
      const rows = await contexts.unsummarized(CHAT, 50);
      expect(rows.map(({ entry }) => ('content' in entry ? entry.content : entry.kind))).toEqual([
        'Ada asked two questions.',
        'Question 3',
        'Answer 3',
        'Question 4',
        'Answer 4',
        'Bake bread',
        'Knead, bake',
      ]);
      const record = await plans.latestPlan(CHAT);
      expect(record?.plan).toMatchObject({ goal: 'Bake bread', state: 'paused', mode: 'agentic' });
      expect(await plans.planRequests(record?.plan.id ?? '')).toEqual({ pause: true });
      expect(await todos.todos(CHAT)).toMatchObject([
        { status: 'done' },
        { text: 'Bake', status: 'pending' },
      ]);
      expect([...(await scratchpad.notes(CHAT))]).toMatchObject([
        ['recipe', { text: 'Flour, water, salt.' }],
      ]);
    });

    it(`${fixture} keeps linked chats, rules, files, groups, sign-ins, traces and runs of schedules`, async () => {
      const { store } = await upgrade(fixture);
      expect((await store.surfaces.surfaces('telegram:45')).map(({ address }) => address)).toEqual([
        'telegram:45',
        'discord:46',
      ]);
      expect(await store.ledger.sessionOf('discord:46')).toBe('telegram:45');
      expect(await store.approvals.rules({ session: 'telegram:47' })).toMatchObject([
        { tool: 'exec', args: { command: 'rm -r old' }, createdBy: ADA, createdName: 'Ada' },
      ]);
      expect(await store.keptFiles.bytesIn('folder-42')).toBe(19);
      expect(await store.groupChats.observes({ channel: 'telegram', chatId: '-200' })).toBe(true);
      expect(await store.signIns.signIns({})).toMatchObject([{ proxyUser: 'ada' }]);
      expect(await store.updates.waitingUpdates('telegram:1', 9)).toMatchObject([{ id: 1 }]);
      expect(await store.chatSettings.chatSetting(CHAT, 'stream')).toBe('draft');
      expect(await store.choices.chosen('model')).toBe('test-model');
      const parked = (await store.traces.newestTurn('telegram:43'))?.turnId ?? '';
      expect((await store.traces.turnFacts(parked))?.attempts).toMatchObject([{ outcome: 'parked' }]);
      expect(await store.traces.refusals('telegram:99', 9)).toMatchObject([{ code: 'denied', count: 1 }]);
      expect(await store.schedules.scheduleRuns('schedule-2')).toMatchObject([{ outcome: 'switched_off' }]);
    });

    it(`${fixture} keeps memories, schedules, access and usage, and takes new rows`, async () => {
      const { memories, schedules, access, usage } = (await upgrade(fixture)).store;
      expect((await memories.searchMemory(ADA, 'bread', 9)).map(({ text }) => text)).toEqual([
        'Ada likes rye bread.',
      ]);
      const fact = { key: 'm3', text: 'Ada bakes on Mondays.', session: CHAT, untrusted: false } as const;
      expect((await memories.remember(ADA, fact)).isNew).toBe(true);
      expect((await memories.memories(ADA, 9)).map(({ untrusted }) => untrusted)).toEqual([
        false,
        true,
        false,
      ]);
      expect(await schedules.schedule('schedule-1')).toMatchObject({
        session: CHAT,
        timing: { kind: 'cron', expression: '0 9 * * 1', timeZone: 'Europe/Rome' },
        nextAt: new Date(Date.UTC(2100, 0, 4, 8)),
      });
      expect(await access.hasGrant('telegram', 'dm', '42')).toBe(true);
      expect(await access.hasGrant('telegram', 'group', '-200')).toBe(true);
      expect(await access.tokensByHash(['f'.repeat(64)])).toMatchObject([{ name: 'laptop', origin: 'cli' }]);
      expect((await access.tokens()).find(({ name }) => name === 'laptop')?.scopes).not.toContain('approve');
      expect(await access.approvePairing('e'.repeat(64))).toMatchObject({ senderName: 'Grace' });
      const all = { from: new Date(0), to: new Date(Date.UTC(2100, 0)) };
      expect(await usage.sum(all)).toMatchObject({
        promptTokens: 10 * 120,
        modelMs: 10 * 900,
        estimated: true,
      });
    });
  }
});
