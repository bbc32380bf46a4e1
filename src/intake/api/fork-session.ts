/** A fork: the files of the session's folder are copied, then the store copies the rows. */
import type { IntakeContext } from '../context.ts';
import { randomUUID } from 'node:crypto';
import type { Caller } from '../../protocol/access.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { ConversationApi, Fork, ForkStore } from '../../protocol/sessions/conversation-api.ts';
import type { SessionKey } from '../../protocol/message.ts';
import type { SessionRecord } from '../../protocol/store/records.ts';
import { MAX_TITLE_CHARS, readTitle } from '../../protocol/sessions/session-list.ts';
import type { SessionFiles } from '../../protocol/agent/tool.ts';
import { clipEnd, inMegabytes } from '../../lib/text.ts';
import { type FileStorage, withGatewayErrors } from './file-api.ts';

/** `ConversationApi.fork`. The files come first: wherever a crash happens, an existing fork has them. */
export async function forkSession(
  { store, ledger }: IntakeContext,
  storage: FileStorage,
  caller: Caller,
  source: SessionRecord,
  { id, seq, before, title: typedTitle }: Parameters<ConversationApi['fork']>[2],
): Promise<Fork> {
  const title = typedTitle === undefined ? titleOfCopy(source) : readTitle(typedTitle);
  const userId = `token:${caller.tokenId}`;
  await checkRoom(storage, userId, source.folder);
  const key: SessionKey = `http:${id}`;
  const folder = randomUUID();
  // A repeated request: the files were copied with the first one.
  const isRepeated = (await ledger.session(key)) !== undefined;
  if (!isRepeated && seq <= source.messageCount)
    await copyOrDiscard(store.forks, storage.files, source.folder, folder);
  const ownerTokenId = source.ownerTokenId ?? caller.tokenId;
  // If it throws, the fork may still have been made: the files stay.
  const fork = await store.forks.fork({
    source: source.key,
    seq,
    before,
    key,
    folder,
    ownerTokenId,
    userId,
    title,
  });
  if (fork?.session.folder !== folder) await discard(store.forks, storage.files, folder);
  if (fork !== undefined) return fork;
  const text = `This session has ${source.messageCount} messages: "seq" must be 0 to ${source.messageCount}.`;
  throw new GatewayError('message_not_found', text);
}

async function copyOrDiscard(forks: ForkStore, files: SessionFiles, from: string, to: string): Promise<void> {
  try {
    await withGatewayErrors(() => files.copy(from, to));
  } catch (error) {
    await discard(forks, files, to);
    throw error;
  }
}

/** Removes the files of a fork that was not made. What cannot be removed now is removed by the next sweep. */
async function discard(forks: ForkStore, files: SessionFiles, folder: string): Promise<void> {
  await forks.discardFolder(folder);
  await files.remove(folder);
}

/** A session without a title stays without one: its next answer generates it. */
function titleOfCopy({ title }: SessionRecord): string | undefined {
  return title === undefined ? undefined : clipEnd(`Copy of ${title}`, MAX_TITLE_CHARS);
}

/** The copies count toward the person who makes them. */
async function checkRoom(
  { keptFiles, personLimit }: FileStorage,
  userId: string,
  folder: string,
): Promise<void> {
  const { maxBytes, days } = personLimit;
  const more = await keptFiles.bytesIn(folder);
  if (more === 0 || (await keptFiles.keptBytes(userId, days)) + more <= maxBytes) return;
  const text = `A fork copies the files of its session, ${inMegabytes(more)}, and your files here may take up ${inMegabytes(maxBytes)} together: remove some first.`;
  throw new GatewayError('storage_full', text);
}
