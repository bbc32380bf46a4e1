/**
 * Reads the data folder of Open WebUI (open-webui/open-webui), or its database: `backend/open_webui/models/`, the files
 * `chats.py`, `memories.py`, `automations.py`, `skills.py` and `users.py`.
 */
import { z } from 'zod';
import { GatewayError } from '../../protocol/errors.ts';
import { parseJson } from '../../lib/json/json.ts';
import { oneLine, withItems } from '../../lib/text.ts';
import { collectTurns, textOf, timeIn } from './chat-turns.ts';
import { type ImportItem, markColumns, marksIn, omitted, type ReadItems } from './items.ts';
import { whenOfRule } from './repeat-rule.ts';
import type { SourceFolder } from './source-folder.ts';
import { openSqlite, type SqliteFile, type SqliteRow } from './sqlite-file.ts';
import { factOf } from './workspace-files.ts';

const PROGRAM = 'Open WebUI';
const DATABASE = 'webui.db';
/** Messages of one conversation that are followed. */
const MAX_MESSAGES = 20_000;
/** People who are listed when there are several. */
const MAX_PEOPLE = 30;

const messageShape = z.looseObject({
  parentId: z.string().nullish(),
  role: z.string(),
  content: z.unknown().optional(),
  timestamp: z.unknown().optional(),
  model: z.string().nullish(),
});
const chatShape = z.looseObject({
  history: z.looseObject({ currentId: z.string().nullish(), messages: z.record(z.string(), z.unknown()) }),
});
const automationShape = z.looseObject({ prompt: z.string(), rrule: z.string() });

/** What else is in the database, by table. */
const LEFT_BEHIND: Readonly<Record<string, readonly [subject: string, reason: string]>> = {
  model: ['a model of your own', 'make a profile with its prompt instead'],
  prompt: ['a prompt', 'Parley has no library of prompts; a skill does the same'],
  tool: ['a tool', 'it is Python code; offer it to Parley as an MCP server'],
  function: ['a function', 'it is Python code of Open WebUI'],
  knowledge: ['a knowledge base', 'Parley has none; put its files into a chat'],
  file: ['a file', 'send it again in the chat that needs it'],
  note: ['a note', 'Parley has no notes'],
};

/** Reads the data of one person, `user` by e-mail address or id. Throws `GatewayError`: `usage`, `import_format`, `import_unreadable`. */
export async function* readOpenWebui(source: SourceFolder, user: string | undefined): ReadItems {
  const place = (await source.plainFile(DATABASE)) ?? (await source.plainFile(`data/${DATABASE}`));
  if (place === undefined)
    throw new GatewayError(
      'import_format',
      `${source.root} is not a data folder of Open WebUI: it has no ${DATABASE}. In its container, that is /app/backend/data.`,
    );
  const database = await openSqlite(place, PROGRAM, {
    user: ['id', 'email'],
    chat: ['id', 'user_id', 'title', 'chat', 'created_at'],
  });
  try {
    yield* itemsOf(database, personIn(database, user));
  } finally {
    database.close();
  }
}

/** The id of the person. Chats of several people must not end up with one. */
function personIn(database: SqliteFile, user: string | undefined): string {
  const people = [...database.rows('select id, email from user order by email')].map(({ id, email }) => ({
    id: String(id),
    email: String(email),
  }));
  const match = people.filter(({ id, email }) => user === undefined || user === id || user === email);
  const [person] = match;
  if (person !== undefined && match.length === 1) return person.id;
  const emails = people.slice(0, MAX_PEOPLE).map(({ email }) => oneLine(email));
  const problem =
    user === undefined
      ? 'Several people have an account there'
      : `Nobody has the account ${oneLine(user).slice(0, 80)} there`;
  throw new GatewayError(
    'usage',
    withItems(`${problem}. Say whose chats to import, with --user and one of:`, emails),
  );
}

async function* itemsOf(database: SqliteFile, person: string): ReadItems {
  const columns = database.columns('chat');
  const marks = markColumns(columns).map((name) => `, ${name}`);
  const chats = `select id, title, chat, created_at${marks.join('')} from chat where user_id = ? order by created_at, id`;
  for (const row of database.rows(chats, person)) yield chatItem(row);
  yield* ofTable(database, 'memory', 'content', person, ({ content }) => factOf(String(content ?? '')));
  yield* ofTable(database, 'automation', 'id, name, data, is_active', person, automationItem);
  yield* ofTable(database, 'skill', 'name, description, content', person, skillItem);
  for (const [table, [subject, reason]] of Object.entries(LEFT_BEHIND))
    yield* ofTable(database, table, 'id', person, () => omitted(subject, reason));
}

function* ofTable(
  database: SqliteFile,
  table: string,
  names: string,
  person: string,
  itemOf: (row: SqliteRow) => ImportItem,
): Generator<ImportItem> {
  const columns = database.columns(table);
  if (columns.size === 0) return;
  const lacks = [...names.split(', '), 'user_id'].filter((name) => !columns.has(name));
  if (lacks.length > 0)
    yield omitted(
      `the table ${table}`,
      `it has no column ${lacks.join(', ')}: another version of Open WebUI wrote it`,
    );
  else
    for (const row of database.rows(`select ${names} from "${table}" where user_id = ?`, person))
      yield itemOf(row);
}

function chatItem({ id, title, chat, created_at, ...row }: SqliteRow): ImportItem {
  const { data } = chatShape.safeParse(typeof chat === 'string' ? parseJson(chat) : undefined);
  const name = oneLine(String(title ?? '')).slice(0, 80);
  if (data === undefined)
    return omitted(`the chat "${name}"`, 'its messages are not stored in a form that Parley knows');
  const turns = collectTurns(timeIn(created_at) ?? new Date(0));
  for (const { role, content, timestamp, model } of branchOf(data.history))
    if (role === 'user' || role === 'assistant')
      turns.add({
        role,
        text: textOf(content),
        at: timeIn(timestamp),
        model: role === 'user' ? undefined : (model ?? undefined),
      });
  return {
    kind: 'chat',
    id: String(id),
    title: name === '' || name === 'New Chat' ? undefined : name,
    marks: marksIn(row),
    ...turns.end(),
  };
}

type StoredMessage = z.output<typeof messageShape>;

/** The messages from the one on screen up to the first: other answers to a question are other branches. */
function branchOf({ currentId, messages }: z.output<typeof chatShape>['history']): StoredMessage[] {
  const branch: StoredMessage[] = [];
  let id = currentId;
  while (typeof id === 'string' && Object.hasOwn(messages, id) && branch.length < MAX_MESSAGES) {
    const { data } = messageShape.safeParse(messages[id]);
    if (data === undefined) break;
    branch.push(data);
    id = data.parentId;
  }
  return branch.toReversed();
}

function automationItem({ id, name, data, is_active }: SqliteRow): ImportItem {
  const label = `the automation "${oneLine(String(name)).slice(0, 80)}"`;
  const task = automationShape.safeParse(typeof data === 'string' ? parseJson(data) : undefined).data;
  if (is_active !== 1) return omitted(label, 'it is switched off');
  if (task === undefined) return omitted(label, 'its fields are not those that Parley knows');
  const when = whenOfRule(task.rrule);
  if (when === undefined)
    return omitted(label, `Parley has no schedule for its rule ${oneLine(task.rrule).slice(0, 120)}`);
  return { kind: 'schedule', id: String(id), name: oneLine(String(name)), when, task: task.prompt.trim() };
}

function skillItem({ name, description, content }: SqliteRow): ImportItem {
  const text = String(content ?? '');
  // Some have it in their text already.
  const front = text.startsWith('---')
    ? ''
    : `---\nname: ${oneLine(String(name))}\ndescription: ${oneLine(String(description ?? ''))}\n---\n`;
  const files = new Map([['SKILL.md', new TextEncoder().encode(front + text)]]);
  return { kind: 'skill', name: oneLine(String(name)), files };
}
