/**
 * Reads a folder of OpenClaw (openclaw/openclaw): `docs/reference/session-management-compaction.md` for transcripts in
 * files, `src/state/openclaw-agent-schema.sql` and `src/state/openclaw-state-schema.sql` for those in SQLite and for tasks,
 * `docs/concepts/agent-workspace.md` for the workspace.
 */
import path from 'node:path';
import { z } from 'zod';
import { GatewayError } from '../../protocol/errors.ts';
import { isJsonObject, parseJson } from '../../lib/json/json.ts';
import { type ImportItem, omitted, partOf, type ReadItems } from './items.ts';
import { jobItem, jobsIn } from './jobs.ts';
import { readJsonLines } from './json-lines.ts';
import { collectTranscript } from './openclaw-transcript.ts';
import type { SourceFolder } from './source-folder.ts';
import { openSqlite, type SqliteFile } from './sqlite-file.ts';
import { factsIn, promptFiles, skillsIn } from './workspace-files.ts';

const PROGRAM = 'OpenClaw';
/** Keys of sessions that no person wrote in, after `agent:<id>:`. */
const INTERNAL = /^(?:agent:[^:]*:)?(cron:|hook:|subagent:|acp:|explicit:model-run-|heartbeat)/;

/** What the index of sessions says of one. */
const entryShape = z.looseObject({
  sessionId: z.string(),
  displayName: z.string().nullish(),
  label: z.string().nullish(),
  subject: z.string().nullish(),
});

interface NamedSession {
  key: string;
  title: string | undefined;
}

/** Reads `~/.openclaw`. Throws `GatewayError`: `import_format`, `import_unreadable`. */
export async function* readOpenclaw(source: SourceFolder): ReadItems {
  const names = new Set((await source.list('')).map(({ name }) => name));
  if (!['agents', 'workspace', 'openclaw.json'].some((name) => names.has(name)))
    throw new GatewayError(
      'import_format',
      `${source.root} is not a folder of OpenClaw: it has no agents, no workspace and no openclaw.json. It is usually ~/.openclaw.`,
    );
  for (const { name, isFolder } of await source.list('agents')) if (isFolder) yield* agent(source, name);
  yield* partOf('the schedules', schedules(source));
  yield* partOf('the workspace', workspace(source));
  yield* partOf('the skills', skillsIn(source, 'skills'));
  if (names.has('openclaw.json'))
    yield omitted('openclaw.json', 'it has tokens and keys: set up models and networks with "init"');
  if (names.has('credentials')) yield omitted('credentials', 'Parley signs in to networks by itself');
}

async function* workspace(source: SourceFolder): ReadItems {
  const entries = await source.list('workspace');
  if (entries.length === 0) {
    yield omitted(
      'the workspace',
      'there is none in this folder; if openclaw.json names another, copy its files by hand',
    );
    return;
  }
  const memory = await source.text('workspace/MEMORY.md');
  if (memory !== undefined) yield* factsIn(memory);
  for (const { name, isFolder } of await source.list('workspace/memory'))
    if (!isFolder && name.endsWith('.md'))
      yield omitted(
        'a daily note in workspace/memory',
        'it is a diary, not a list of facts; the conversations themselves are imported',
      );
  yield* promptFiles(source, 'workspace');
  yield* skillsIn(source, 'workspace/skills');
}

/** The sessions of an agent: in SQLite since 2026.9, else in files. */
async function* agent(source: SourceFolder, name: string): ReadItems {
  const database = await source.plainFile(`agents/${name}/agent/openclaw-agent.sqlite`);
  if (database !== undefined)
    yield* partOf(`the conversations in ${database}`, agentDatabase(database, name));
  yield* partOf(`the transcripts of the agent ${name}`, transcripts(source, name));
}

async function* transcripts(source: SourceFolder, name: string): ReadItems {
  const folder = `agents/${name}/sessions`;
  const index = parseJson((await source.text(`${folder}/sessions.json`)) ?? '{}');
  if (!isJsonObject(index))
    yield omitted(`${folder}/sessions.json`, 'it is no JSON object; chats have no names then');
  const sessions = namedSessions(isJsonObject(index) ? Object.entries(index) : []);
  for (const { name: file, isFolder } of await source.list(folder)) {
    if (isFolder || file === 'sessions.json') continue;
    if (file.endsWith('.jsonl')) yield* transcriptFile(source, name, path.posix.join(folder, file), sessions);
    else if (file.includes('.jsonl.')) yield omitted('an old transcript', 'its chat was reset or deleted');
  }
}

function namedSessions(entries: readonly (readonly [string, unknown])[]): Map<string, NamedSession> {
  return new Map(
    entries.flatMap(([key, value]) => {
      const { data } = entryShape.safeParse(value);
      const title = data?.displayName ?? data?.label ?? data?.subject ?? titleOfKey(key);
      return data === undefined ? [] : [[data.sessionId, { key, title }] as const];
    }),
  );
}

/** `agent:main:telegram:group:-100` says where it was; `agent:main:main` says nothing. */
function titleOfKey(key: string): string | undefined {
  const place = key.replace(/^agent:[^:]*:/, '');
  return place.includes(':') ? place : undefined;
}

async function* transcriptFile(
  source: SourceFolder,
  agentName: string,
  place: string,
  sessions: ReadonlyMap<string, NamedSession>,
): AsyncGenerator<ImportItem> {
  const file = await source.open(place);
  if (file === undefined) return;
  const lines = readJsonLines(file);
  const transcript = collectTranscript();
  for await (const event of lines.objects) transcript.add(event);
  if (lines.broken() > 0)
    yield omitted(`lines of ${place}`, `${lines.broken()} are no JSON objects, or too long`);
  const id = path.posix.basename(place, '.jsonl');
  yield chatOf(agentName, id, sessions.get(id), transcript.end());
}

function chatOf(
  agentName: string,
  id: string,
  session: NamedSession | undefined,
  transcript: ReturnType<ReturnType<typeof collectTranscript>['end']>,
): ImportItem {
  if (session !== undefined && INTERNAL.test(session.key))
    return omitted('a conversation of OpenClaw itself', 'it belongs to a schedule, a webhook or a subagent');
  return { kind: 'chat', id: `${agentName}/${id}`, title: session?.title, ...transcript };
}

async function* agentDatabase(file: string, agentName: string): ReadItems {
  const database = await openSqlite(file, PROGRAM, {
    transcript_events: ['session_id', 'seq', 'event_json'],
  });
  try {
    const sessions = namedSessions(sessionEntries(database));
    for (const { session_id: id } of database.rows(
      'select distinct session_id from transcript_events order by 1',
    )) {
      const transcript = collectTranscript();
      const query = 'select event_json from transcript_events where session_id = ? order by seq';
      for (const { event_json: text } of database.rows(query, String(id))) {
        const event = parseJson(String(text));
        if (isJsonObject(event)) transcript.add(event);
      }
      yield chatOf(agentName, String(id), sessions.get(String(id)), transcript.end());
    }
  } finally {
    database.close();
  }
}

/** Later versions store the index elsewhere: chats have no names then. */
function sessionEntries(database: SqliteFile): (readonly [string, unknown])[] {
  if (!database.columns('session_entries').has('entry_json')) return [];
  const rows = database.rows('select session_key, entry_json, session_id from session_entries');
  return [...rows].map(({ session_key: key, entry_json: text, session_id: id }) => {
    const entry = parseJson(String(text));
    return [String(key), isJsonObject(entry) ? { ...entry, sessionId: String(id) } : undefined] as const;
  });
}

async function* schedules(source: SourceFolder): ReadItems {
  const file = await source.plainFile('state/openclaw.sqlite');
  const hasJobs = file !== undefined && (yield* jobRows(file));
  const text = hasJobs ? undefined : await source.text('cron/jobs.json');
  if (text !== undefined) yield* jobsIn('cron/jobs.json', text);
}

/** The tasks in SQLite; returns false when they are not there. */
async function* jobRows(file: string): AsyncGenerator<ImportItem, boolean> {
  const database = await openSqlite(file, PROGRAM, {});
  try {
    const columns = database.columns('cron_jobs');
    if (columns.size === 0) return false;
    if (!columns.has('job_json')) {
      yield omitted(
        'the schedules in state/openclaw.sqlite',
        'this version of OpenClaw stores them in a form that Parley cannot read',
      );
      return true;
    }
    for (const { job_json: text } of database.rows(
      'select job_json from cron_jobs order by sort_order, job_id',
    ))
      yield jobItem(parseJson(String(text)));
    return true;
  } finally {
    database.close();
  }
}
