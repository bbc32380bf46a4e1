/**
 * Folders as other programs write them. The shapes are those of their sources: openclaw/openclaw
 * (`src/state/openclaw-agent-schema.sql`, `src/cron/types.ts`, `docs/reference/session-management-compaction.md`),
 * NousResearch/hermes-agent (`SCHEMA_SQL` in `hermes_state_common.py`, `website/docs/developer-guide/cron-internals.md`),
 * HKUDS/nanobot (`nanobot/session/manager.py`, `nanobot/cron/service.py`) and open-webui/open-webui
 * (`backend/open_webui/models/`).
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';

/** A folder with these files, by path; removed when the test ends. */
export function folderOf(files: Readonly<Record<string, string | Uint8Array>>): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-import-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), content);
  }
  return folder;
}

/** Writes a SQLite database into a folder; each statement with its rows of values. */
export function writeSqlite(
  folder: string,
  name: string,
  statements: readonly (readonly [statement: string, rows?: readonly (readonly (string | number)[])[]])[],
): void {
  mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
  const database = new DatabaseSync(path.join(folder, name));
  for (const [statement, rows] of statements) {
    if (rows === undefined) database.exec(statement);
    else for (const row of rows) database.prepare(statement).run(...row);
  }
  database.close();
}

export const lines = (...records: readonly object[]): string =>
  records.map((record) => `${JSON.stringify(record)}\n`).join('');

/** A transcript of OpenClaw: the entries after its header. */
export function transcript(...entries: readonly object[]): string {
  return lines(
    { type: 'session', version: 3, id: 's1', timestamp: '2026-02-06T07:48:00.000Z', cwd: '/' },
    ...entries,
  );
}

/** An entry of such a transcript. */
export function entry(id: string, parentId: string | null, role: string, text: string) {
  const message = {
    role,
    content: [{ type: 'text', text }],
    ...(role === 'assistant' && { model: 'gpt-5.2' }),
  };
  return { type: 'message', id, parentId, timestamp: '2026-02-06T07:49:03.491Z', message };
}

/** A task of OpenClaw. */
export function job(id: string, schedule: object, change: object = {}) {
  return {
    id,
    name: `Job ${id}`,
    enabled: true,
    createdAtMs: 1_770_364_143_489,
    updatedAtMs: 1_770_364_143_489,
    schedule,
    sessionTarget: 'isolated',
    wakeMode: 'now',
    payload: { kind: 'agentTurn', message: `Do ${id}` },
    state: {},
    ...change,
  };
}

export const HERMES_TABLES = [
  [
    `create table sessions (id text primary key, source text not null, display_name text, model text, parent_session_id text,
      started_at real not null, title text, archived integer not null default 0, pinned integer not null default 0)`,
  ],
  [
    `create table messages (id integer primary key autoincrement, session_id text not null, role text not null, content text,
      tool_calls text, timestamp real not null, _compressed_summary integer not null default 0,
      active integer not null default 1, compacted integer not null default 0)`,
  ],
] as const;

export const WEBUI_TABLES = [
  ['create table user (id text primary key, name text, email text, role text)'],
  [
    `create table chat (id text primary key, user_id text, title text, chat json, created_at bigint, updated_at bigint,
      archived boolean default 0, pinned boolean default 0)`,
  ],
  [
    'create table memory (id text primary key, user_id text, content text, updated_at bigint, created_at bigint)',
  ],
  [
    `create table automation (id text primary key, user_id text not null, name text not null, data json not null,
      is_active boolean not null default 1, created_at bigint not null, updated_at bigint not null)`,
  ],
  [
    'create table skill (id text primary key, user_id text, name text, description text, content text, meta json)',
  ],
  ['create table tool (id text primary key, user_id text, name text, content text)'],
] as const;
