/** The order of a fork: what a crash or a refusal at any point leaves behind. */
import { expect, it } from 'vitest';
import { GatewayError } from '../../src/protocol/errors.ts';
import type { Fork } from '../../src/protocol/sessions/conversation-api.ts';
import type { SessionRecord } from '../../src/protocol/store/records.ts';
import type { FileStorage } from '../../src/intake/api/file-api.ts';
import { forkSession } from '../../src/intake/api/fork-session.ts';
import type { SessionFiles } from '../../src/protocol/agent/tool.ts';
import type { IntakeContext, IntakeStore } from '../../src/intake/context.ts';
import { partial } from '../fakes/partial.ts';

const SOURCE: SessionRecord = {
  key: 'http:source',
  folder: 'source-folder',
  messageCount: 4,
  ownerTokenId: 'a',
} as unknown as SessionRecord;
const CALLER = { tokenId: 'a', scopes: ['chat' as const] };

/** Does what is asked, and records it; `made` is what the store reports about the fork in this folder. */
function fork(
  made: (folder: string) => Fork | undefined,
  { seq = 4, exists = false, copy = () => Promise.resolve() } = {},
) {
  const steps: string[] = [];
  const named = (step: string, folder: string): void =>
    void steps.push(`${step} ${folder === SOURCE.folder ? 'source' : 'copy'}`);
  const storage = partial<FileStorage>({
    keptFiles: partial({ keptBytes: () => Promise.resolve(0), bytesIn: () => Promise.resolve(0) }),
    personLimit: { maxBytes: 1, days: 1 },
    files: partial<SessionFiles>({
      copy: async (_from, to) => {
        named('copied to', to);
        await copy();
      },
      remove: (folder) => Promise.resolve((named('removed', folder), true)),
    }),
  });
  const context = partial<IntakeContext>({
    ledger: partial({ session: () => Promise.resolve(exists ? SOURCE : undefined) }),
    store: partial<IntakeStore>({
      forks: {
        fork: ({ folder }) => {
          named('rows with', folder);
          return Promise.resolve().then(() => made(folder));
        },
        discardFolder: (folder) => Promise.resolve(named('discarded', folder)),
      },
    }),
  });
  const asked = { id: 'fork', seq, before: false, title: undefined };
  return { steps, done: forkSession(context, storage, CALLER, SOURCE, asked) };
}

const inFolder = (folder: string): Fork => ({
  session: { ...SOURCE, key: 'http:fork', folder },
  messages: 4,
  leftBehind: 0,
});

it('copies the files before there is a session that would miss them', async () => {
  const { steps, done } = fork(inFolder);
  await done;
  expect(steps).toEqual(['copied to copy', 'rows with copy']);
});

it('creates no session when the files cannot be copied, and leaves nothing behind', async () => {
  const full = new GatewayError('workspace_full', 'There is too much.');
  const { steps, done } = fork(inFolder, { copy: () => Promise.reject(full) });
  await expect(done).rejects.toThrow('There is too much.');
  expect(steps).toEqual(['copied to copy', 'discarded copy', 'removed copy']);
});

it('keeps the files when it is unknown whether the rows were committed', async () => {
  const lost = new GatewayError('unavailable', 'The database is gone.');
  const { steps, done } = fork(() => {
    throw lost;
  });
  await expect(done).rejects.toBe(lost);
  expect(steps).toEqual(['copied to copy', 'rows with copy']);
});

it('copies nothing for a message that does not exist, nor when a request is repeated', async () => {
  const missing = fork(() => undefined, { seq: 5 });
  await expect(missing.done).rejects.toThrow('"seq" must be 0 to 4');
  expect(missing.steps).toEqual(['rows with copy', 'discarded copy', 'removed copy']);
  const repeated = fork(() => inFolder('first-folder'), { exists: true });
  expect((await repeated.done).session.folder).toBe('first-folder');
  expect(repeated.steps).not.toContain('copied to copy');
});
