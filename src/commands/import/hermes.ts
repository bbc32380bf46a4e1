/**
 * Reads a folder of Hermes Agent (NousResearch/hermes-agent): `hermes_state_common.py` (`SCHEMA_SQL`) for conversations,
 * `website/docs/developer-guide/cron-internals.md` for tasks, `website/docs/user-guide/features/memory.md` for facts.
 */
import { GatewayError } from '../../protocol/errors.ts';
import { parseJson } from '../../lib/json/json.ts';
import { collectTurns, textOf, timeIn } from './chat-turns.ts';
import { type ImportItem, markColumns, marksIn, omitted, partOf, type ReadItems } from './items.ts';
import { jobsIn } from './jobs.ts';
import type { SourceFolder } from './source-folder.ts';
import { openSqlite, type SqliteFile, type SqliteRow } from './sqlite-file.ts';
import { factOf, promptFiles, skillsIn } from './workspace-files.ts';

const PROGRAM = 'Hermes Agent';
/** Between the facts of a file. */
const FACT_SEPARATOR = /\n?§\n?/;
/** In front of a message's content that is JSON. */
const JSON_PREFIX = '\0json:';
/** Sessions that no person wrote in. */
const INTERNAL = new Set(['cron', 'tool', 'subagent', 'delegate']);

/** Reads `~/.hermes`, or the folder of one of its profiles. Throws `GatewayError`: `import_format`, `import_unreadable`. */
export async function* readHermes(source: SourceFolder): ReadItems {
  const names = new Set((await source.list('')).map(({ name }) => name));
  if (!['state.db', 'memories', 'SOUL.md'].some((name) => names.has(name)))
    throw new GatewayError(
      'import_format',
      `${source.root} is not a folder of Hermes Agent: it has no state.db, no memories and no SOUL.md. It is usually ~/.hermes.`,
    );
  const state = await source.plainFile('state.db');
  if (state !== undefined) yield* partOf('the conversations in state.db', sessions(state));
  yield* partOf('the schedules', schedules(source));
  yield* partOf('the facts', facts(source));
  yield* partOf('the prompt files', promptFiles(source, ''));
  yield* partOf('the skills', skillsIn(source, 'skills'));
  for (const name of ['config.yaml', '.env', 'auth.json'])
    if (names.has(name))
      yield omitted(name, 'it has tokens and keys: set up models and networks with "init"');
  for (const { name, isFolder } of await source.list('profiles'))
    if (isFolder)
      yield omitted(`the profile ${name}`, `import it by itself, from ${source.root}/profiles/${name}`);
}

async function* schedules(source: SourceFolder): ReadItems {
  const jobs = await source.text('cron/jobs.json');
  if (jobs !== undefined) yield* jobsIn('cron/jobs.json', jobs);
}

async function* facts(source: SourceFolder): ReadItems {
  for (const file of ['memories/USER.md', 'memories/MEMORY.md']) {
    const text = (await source.text(file)) ?? '';
    yield* text
      .split(FACT_SEPARATOR)
      .filter((fact) => fact.trim() !== '')
      .map(factOf);
  }
}

async function* sessions(file: string): ReadItems {
  const database = await openSqlite(file, PROGRAM, {
    sessions: ['id', 'source', 'started_at'],
    messages: ['id', 'session_id', 'role', 'content', 'timestamp'],
  });
  try {
    const columns = database.columns('sessions');
    const extra = ['title', 'display_name', 'model'].filter((name) => columns.has(name));
    const names = ['id', 'source', 'started_at', ...extra, ...markColumns(columns)].join(', ');
    for (const row of database.rows(`select ${names} from sessions order by started_at, id`))
      yield session(database, row);
  } finally {
    database.close();
  }
}

function session(database: SqliteFile, row: SqliteRow): ImportItem {
  const id = String(row['id']);
  if (INTERNAL.has(String(row['source'])))
    return omitted('a conversation of Hermes itself', 'it belongs to a schedule or a subagent');
  const columns = database.columns('messages');
  // Rows that were rewound are not active; those that a summary replaced still are what people saw.
  const isSeen = columns.has('active')
    ? `and (active = 1${columns.has('compacted') ? ' or compacted = 1' : ''})`
    : '';
  const isOwn = columns.has('_compressed_summary') ? 'and _compressed_summary = 0' : '';
  const query = `select role, content, timestamp from messages where session_id = ?
    and role in ('user', 'assistant') ${isSeen} ${isOwn} order by timestamp, id`;
  const turns = collectTurns(timeIn(row['started_at']) ?? new Date(0));
  const model = typeof row['model'] === 'string' ? row['model'] : undefined;
  for (const { role, content, timestamp } of database.rows(query, id)) {
    const by = role === 'user' ? 'user' : 'assistant';
    turns.add({
      role: by,
      text: contentText(content),
      at: timeIn(timestamp),
      model: by === 'user' ? undefined : model,
    });
  }
  const title = [row['title'], row['display_name']].find((name) => typeof name === 'string' && name !== '');
  return {
    kind: 'chat',
    id,
    title: typeof title === 'string' ? title : undefined,
    marks: marksIn(row),
    ...turns.end(),
  };
}

function contentText(content: unknown): string {
  if (typeof content !== 'string') return '';
  return content.startsWith(JSON_PREFIX) ? textOf(parseJson(content.slice(JSON_PREFIX.length))) : content;
}
