/** Stores what an import reads: nothing twice, nothing over what is there, and all of it as text of others. */
import { createHash } from 'node:crypto';
import path from 'node:path';
import type { Config } from '../../config.ts';
import { GatewayError, StoreError } from '../../protocol/errors.ts';
import type { SessionKey } from '../../protocol/message.ts';
import type { Schedules } from '../../protocol/schedules.ts';
import { MAX_TITLE_CHARS } from '../../protocol/sessions/session-list.ts';
import { UNKNOWN_SOURCES } from '../../protocol/agent/risk.ts';
import { MAX_MEMORIES, MAX_UNVERIFIED_MEMORIES } from '../../protocol/store/notes.ts';
import { clipEnd, oneLine } from '../../lib/text.ts';
import type { HomeStore } from '../../store/index.ts';
import { schedulesOf } from '../schedule.ts';
import { type ChatItem, type ImportItem, MAX_CHATS, type MemoryItem, type ScheduleItem } from './items.ts';
import type { ImportReport } from './report.ts';
import { folderName, placePrompt, type Placement, placeSkill } from './workspace-place.ts';

/** Where an import goes, and how. */
export interface ImportTarget {
  store: HomeStore;
  config: Config;
  /** The name of the program in keys. */
  program: string;
  /** Whose sessions and memories they become. */
  tokenId: string;
  /** Say what would happen, and change nothing. */
  dryRun: boolean;
  /** Take prompt files and skills, too: the model follows them. */
  prompts: boolean;
}

/** Stores items one after another. Throws `StoreError`, and errors of the file system for prompt files and skills. */
export function createReceiver(
  target: ImportTarget,
  report: ImportReport,
): (item: ImportItem) => Promise<void> {
  const { config, prompts, dryRun } = target;
  const workspace = path.join(config.home, 'workspace');
  const schedules = schedulesOf(target.store, config);
  let chats = 0;
  const place = async (
    kind: 'prompt' | 'skill',
    name: string,
    act: () => Promise<Placement>,
  ): Promise<void> => {
    const subject = kind === 'prompt' ? name : `the skill ${name}`;
    if (!prompts)
      return report.omit(
        subject,
        'the model follows it like your own instructions: read it, then run this again with --prompts',
      );
    const placement = await act();
    if (placement === 'differs')
      report.omit(subject, `there is another one in ${workspace}; compare the two by hand`);
    else report.add(kind, placement === 'new');
  };
  return async (item) => {
    switch (item.kind) {
      case 'omitted':
        return report.omit(item.subject, item.reason);
      case 'chat':
        if (item.turns.length === 0)
          return report.omit('a chat without messages', 'there is nothing in it to read');
        chats += 1;
        if (chats > MAX_CHATS) return report.omit('a chat', `at most ${MAX_CHATS} are taken from one folder`);
        if (item.olderTurns > 0)
          report.omit(
            `${item.olderTurns} older turns of "${titleOf(item)}"`,
            'a chat takes its newest turns',
          );
        return report.add('chat', await receiveChat(target, item));
      case 'memory':
        return await receiveMemory(target, report, item);
      case 'schedule':
        return await receiveSchedule({ target, schedules, report }, item);
      case 'prompt':
        return await place('prompt', item.name, () => placePrompt(workspace, item, dryRun));
      case 'skill': {
        const name = folderName(item.name);
        if (name === undefined)
          return report.omit(`the skill ${item.name}`, 'its name is no name for a folder');
        return await place('skill', name, () => placeSkill(workspace, name, item, dryRun));
      }
    }
    const unknown: never = item;
    return unknown;
  };
}

/** The same for the same thing in every import. */
function idOf({ program }: ImportTarget, kind: string, id: string): string {
  const digest = createHash('sha256').update(`${program}\0${kind}\0${id}`).digest('hex');
  return `import-${program}-${digest.slice(0, 24)}`;
}

/** True when it was not there before. */
async function receiveChat(
  target: ImportTarget,
  item: ChatItem,
  id = idOf(target, 'chat', item.id),
): Promise<boolean> {
  const { store, tokenId, dryRun } = target;
  const key: SessionKey = `http:${id}`;
  if (dryRun) return (await store.ledger.session(key)) === undefined;
  const times = item.turns.map(({ at }) => at.getTime());
  const now = Date.now();
  return await store.imports.importChat({
    key,
    ownerTokenId: tokenId,
    title: titleOf(item),
    turns: item.turns,
    sources: UNKNOWN_SOURCES,
    marks: item.marks,
    createdAt: new Date(Math.min(now, ...times.slice(0, 1))),
    updatedAt: new Date(Math.min(now, ...times.slice(-1))),
  });
}

function titleOf({ title, turns }: ChatItem): string {
  const [first] = turns;
  const text = title ?? (first?.question || first?.answer) ?? '';
  return clipEnd(oneLine(text), MAX_TITLE_CHARS);
}

async function receiveMemory(
  { store, program, tokenId, dryRun }: ImportTarget,
  report: ImportReport,
  { text }: MemoryItem,
): Promise<void> {
  const user = `token:${tokenId}` as const;
  const all = await store.memories.memories(user, MAX_MEMORIES + MAX_UNVERIFIED_MEMORIES);
  if (all.some((memory) => memory.text === text)) return report.add('memory', false);
  // One more would push out the oldest of them.
  const room =
    MAX_UNVERIFIED_MEMORIES -
    all.filter(({ untrusted }) => untrusted).length -
    (dryRun ? report.count('memory') : 0);
  if (room <= 0)
    return report.omit(
      'a fact',
      `at most ${MAX_UNVERIFIED_MEMORIES} facts wait to be confirmed: confirm or forget some (/memory, /verify, /forget), then run this again`,
    );
  if (!dryRun) {
    const digest = createHash('sha256').update(text).digest('hex').slice(0, 24);
    await store.memories.remember(user, {
      key: `import-${program}-${digest}/0`,
      text,
      session: `http:import-${program}`,
      untrusted: true,
    });
  }
  report.add('memory', true);
}

interface ScheduleDeps {
  target: ImportTarget;
  schedules: Schedules;
  report: ImportReport;
}

/** Each gets a chat of its own, named after it. */
async function receiveSchedule(
  { target, schedules, report }: ScheduleDeps,
  item: ScheduleItem,
): Promise<void> {
  const id = idOf(target, 'schedule', item.id);
  if ((await schedules.find(id)) !== undefined) return report.add('schedule', false);
  if (target.dryRun) return report.add('schedule', true);
  const chat: ChatItem = { kind: 'chat', id: item.id, title: item.name, turns: [], olderTurns: 0 };
  const isNew = await receiveChat(target, chat, id);
  const address: SessionKey = `http:${id}`;
  try {
    const creatorId = `token:${target.tokenId}`;
    await schedules.add({
      id,
      session: address,
      address,
      creatorId,
      task: item.task,
      when: item.when,
      sources: UNKNOWN_SOURCES,
    });
    report.add('schedule', true);
  } catch (error) {
    if (!(error instanceof GatewayError) || error instanceof StoreError) throw error;
    if (isNew) await target.store.ledger.deleteSession(address);
    report.omit(`the schedule "${oneLine(item.name)}"`, error.message);
  }
}
