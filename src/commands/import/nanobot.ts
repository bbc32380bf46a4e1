/**
 * Reads a folder of nanobot (HKUDS/nanobot at 3852956a): `nanobot/session/manager.py` for conversations,
 * `nanobot/cron/service.py` for tasks, `docs/memory.md` for the workspace.
 */
import path from 'node:path';
import { GatewayError } from '../../protocol/errors.ts';
import { collectTurns, textOf, timeIn } from './chat-turns.ts';
import { type ImportItem, omitted, partOf, type ReadItems } from './items.ts';
import { jobsIn } from './jobs.ts';
import { readJsonLines } from './json-lines.ts';
import type { SourceFolder } from './source-folder.ts';
import { factsIn, promptFiles, skillsIn } from './workspace-files.ts';

/** Sessions of the program itself. */
const INTERNAL = /^(cron:|dream:|heartbeat$|system:)/;

/** Reads `~/.nanobot`, or a workspace of nanobot. Throws `GatewayError`: `import_format`, `import_unreadable`. */
export async function* readNanobot(source: SourceFolder): ReadItems {
  const names = new Set((await source.list('')).map(({ name }) => name));
  const workspace = names.has('workspace') ? 'workspace' : '';
  const isWorkspace =
    workspace === '' && (names.has('SOUL.md') || names.has('memory') || names.has('AGENTS.md'));
  if (workspace === '' && !isWorkspace && !names.has('sessions'))
    throw new GatewayError(
      'import_format',
      `${source.root} is not a folder of nanobot: it has no workspace and no sessions. It is usually ~/.nanobot.`,
    );
  const folders = new Set(['sessions', path.posix.join(workspace, 'sessions')]);
  for (const folder of folders) yield* partOf(`the conversations in ${folder}`, sessions(source, folder));
  yield* partOf('the schedules', schedules(source, workspace));
  yield* partOf('the workspace', workspaceItems(source, workspace));
  if (names.has('config.json'))
    yield omitted('config.json', 'it has tokens and keys: set up models and networks with "init"');
}

async function* schedules(source: SourceFolder, workspace: string): ReadItems {
  for (const file of new Set([path.posix.join(workspace, 'cron/jobs.json'), 'cron/jobs.json'])) {
    const text = await source.text(file);
    if (text !== undefined) yield* jobsIn(file, text);
  }
}

async function* workspaceItems(source: SourceFolder, workspace: string): ReadItems {
  const memory = await source.text(path.posix.join(workspace, 'memory/MEMORY.md'));
  if (memory !== undefined) yield* factsIn(memory);
  if ((await source.plainFile(path.posix.join(workspace, 'memory/history.jsonl'))) !== undefined)
    yield omitted(
      'memory/history.jsonl',
      'it holds summaries of conversations; the conversations themselves are imported',
    );
  yield* promptFiles(source, workspace);
  yield* skillsIn(source, path.posix.join(workspace, 'skills'));
}

/** JSONL files in a folder, and in one folder a workspace below it. */
async function* sessions(source: SourceFolder, folder: string): ReadItems {
  for (const { name, isFolder } of await source.list(folder)) {
    const place = path.posix.join(folder, name);
    if (!isFolder) {
      if (name.endsWith('.jsonl')) yield* session(source, place);
      continue;
    }
    for (const entry of await source.list(place))
      if (!entry.isFolder && entry.name.endsWith('.jsonl'))
        yield* session(source, path.posix.join(place, entry.name));
  }
}

async function* session(source: SourceFolder, place: string): AsyncGenerator<ImportItem> {
  const file = await source.open(place);
  if (file === undefined) return;
  const lines = readJsonLines(file);
  // The first line names the session; files of older versions are named after it.
  let key = path.posix.basename(place, '.jsonl');
  let title: string | undefined;
  let turns = collectTurns(new Date(0));
  for await (const record of lines.objects) {
    if (record['_type'] === 'metadata') {
      if (typeof record['key'] === 'string') key = record['key'];
      title = titleIn(record['metadata']);
      turns = collectTurns(timeIn(record['created_at']) ?? new Date(0));
    } else if (record['_type'] === undefined && record['_command'] === undefined) {
      const { role, content, timestamp } = record;
      if (role === 'user' || role === 'assistant')
        turns.add({ role, text: textOf(content), at: timeIn(timestamp) });
    }
  }
  if (lines.broken() > 0)
    yield omitted(`lines of ${place}`, `${lines.broken()} are no JSON objects, or too long`);
  if (INTERNAL.test(key))
    yield omitted(
      'a conversation of nanobot itself',
      'it belongs to a schedule, the heartbeat or the memory',
    );
  else yield { kind: 'chat', id: key, title: title ?? titleOfKey(key), ...turns.end() };
}

function titleIn(metadata: unknown): string | undefined {
  const title: unknown =
    typeof metadata === 'object' && metadata !== null && 'title' in metadata ? metadata.title : undefined;
  return typeof title === 'string' && title.trim() !== '' ? title : undefined;
}

/** `telegram:42` says where it was; the key of a chat on the page says nothing. */
function titleOfKey(key: string): string | undefined {
  return /^(cli|websocket|webui|api):/.test(key) ? undefined : key;
}
