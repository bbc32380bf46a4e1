/** A fork: the rows are copied by the store, then the files of the session's folder. */
import { randomUUID } from 'node:crypto';
import type { Caller } from '../../contracts/access.ts';
import { GatewayError } from '../../contracts/errors.ts';
import type { PersonLimit } from '../../contracts/file-api.ts';
import type { KeptFiles } from '../../contracts/media.ts';
import type { ConversationApi } from '../../contracts/sessions/conversation-api.ts';
import type { Fork, ForkStore } from '../../contracts/sessions/fork.ts';
import type { SessionRecord } from '../../contracts/store/records.ts';
import { MAX_TITLE_CHARS, readTitle } from '../../contracts/store/titles.ts';
import type { SessionFiles } from '../../contracts/tool.ts';
import { clipEnd, inMegabytes } from '../../lib/text.ts';
import { inWords } from '../file-api.ts';
import { deleteSession } from './delete-session.ts';
import type { DeleteSessionDeps } from './delete-session.ts';

export type ForkDeps = DeleteSessionDeps & {
  forks: ForkStore;
  files: Pick<SessionFiles, 'copy'>;
  keptFiles: Pick<KeptFiles, 'keptBytes' | 'bytesIn'>;
  filesPerPerson: PersonLimit;
};

/** `ConversationApi.fork`. A fork whose files cannot be copied is taken back. */
export async function forkSession(
  deps: ForkDeps,
  caller: Caller,
  source: SessionRecord,
  { id, seq, before, title: asked }: Parameters<ConversationApi['fork']>[2],
): Promise<Fork> {
  const title = asked === undefined ? titleOfCopy(source) : readTitle(asked);
  const userId = `token:${caller.tokenId}`;
  await checkRoom(deps, userId, source.folder);
  const folder = randomUUID();
  const fork = await deps.forks.fork({
    source: source.key,
    seq,
    before,
    key: `http:${id}`,
    folder,
    ownerTokenId: source.ownerTokenId ?? caller.tokenId,
    userId,
    title,
  });
  if (fork === undefined) {
    const text = `This session has ${source.messageCount} messages: "seq" must be 0 to ${source.messageCount}.`;
    throw new GatewayError('message_not_found', text);
  }
  // A repeated request: the files were copied with the first one.
  if (fork.session.folder !== folder) return fork;
  try {
    await inWords(() => deps.files.copy(source.folder, folder));
    return fork;
  } catch (error) {
    await deleteSession(deps, fork.session);
    throw error;
  }
}

/** A session without a title stays without one: its next answer makes it. */
function titleOfCopy({ title }: SessionRecord): string | undefined {
  return title === undefined ? undefined : clipEnd(`Copy of ${title}`, MAX_TITLE_CHARS);
}

/** The copies count for whoever makes them. */
async function checkRoom(
  { keptFiles, filesPerPerson }: ForkDeps,
  userId: string,
  folder: string,
): Promise<void> {
  const { maxBytes, days } = filesPerPerson;
  const more = await keptFiles.bytesIn(folder);
  if (more === 0 || (await keptFiles.keptBytes(userId, days)) + more <= maxBytes) return;
  const text = `A fork copies the files of its session, ${inMegabytes(more)}, and your files here may take up ${inMegabytes(maxBytes)} together: remove some first.`;
  throw new GatewayError('storage_full', text);
}
