/** Files of messages in the database: what a user keeps, and what is removed when it expires. */
import { expect, it } from 'vitest';
import type { Attachment } from '../../src/protocol/media.ts';
import type { SessionFiles } from '../../src/protocol/agent/tool.ts';
import type { MediaContext } from '../../src/media/fetch-file.ts';
import { mediaRule } from '../../src/media/settings.ts';
import { partial } from '../fakes/partial.ts';
import { sweepStoredFiles } from '../../src/media/stored-files.ts';
import { describeStore, silentLog } from '../database.ts';
import { inboundMessage } from '../fakes/agent/turn-setup.ts';

const never = new AbortController().signal;

describeStore('stored files', (databases) => {
  it('count toward their user’s limit, end with their session, and are removed on every node when they are old', async () => {
    const store = await databases.open();
    const message = inboundMessage('look', { media: [{ kind: 'image', url: 'x' }] });
    const node = await store.lanes.register('instance', 60_000);
    const accepted = await store.ledger.accept({ message, address: 'telegram:42', entry: 'run', node });
    if (accepted.kind !== 'accepted') throw new Error(accepted.kind);
    const [head] = accepted.heads;
    if (head === undefined) throw new Error('no head');
    const file = (name: string, bytes: number): Attachment => {
      const sha256 = '0'.repeat(64);
      return { kind: 'image', name, mimeType: 'image/png', bytes, sha256, file: `inbox/${name}` };
    };
    const files = { folder: 'f', userId: 'telegram:7', attachments: [file('a', 700), file('b', 300)] };
    await store.ledger.noteFiles(head, accepted.turnId, files);
    await store.ledger.noteFiles(head, accepted.turnId, files);
    expect(await store.keptFiles.keptBytes('telegram:7', 30)).toBe(1_000);
    expect(await store.keptFiles.keptBytes('telegram:8', 30)).toBe(0);
    const [row] = await store.ledger.messages(accepted.session, { limit: 1 });
    expect(row?.attachments?.map(({ file: at }) => at)).toEqual(['inbox/a', 'inbox/b']);

    const sent = { folder: 'f', path: 'inbox/sent', userId: 'token:1', bytes: 500 };
    for (let n = 0; n < 2; n += 1) await store.keptFiles.keep(sent);
    expect(await store.keptFiles.keptBytes('token:1', 30)).toBe(500);
    await store.keptFiles.drop('f', 'inbox/sent');
    expect(await store.keptFiles.keptBytes('token:1', 30)).toBe(0);

    await store.keptFiles.keep({ folder: 'f', path: 'outbox/out', userId: 'sent', bytes: 9 });
    await store.sql`update kept_file set kept_at = now() - interval '3 days' where path = 'outbox/out'`;
    const old = { fromDays: 2, toDays: 4, after: { folder: '', path: '' }, limit: 9 };
    expect(await store.keptFiles.keptBetween(old)).toEqual([{ folder: 'f', path: 'outbox/out' }]);
    await store.keptFiles.keep({ folder: 'f', path: 'outbox/out', userId: 'sent', bytes: 9 });
    expect(await store.keptFiles.keptBetween(old)).toEqual([]);
    await store.keptFiles.drop('f', 'outbox/out');

    const gone: string[] = [];
    const sweep = (keepDays: number) =>
      sweepStoredFiles(
        partial<MediaContext>({
          keptFiles: store.keptFiles,
          files: partial<SessionFiles>({
            discard: async (folder, at) => gone.push(`${folder}/${at}`) > 0,
            share: async () => [],
          }),
          settings: { ...mediaRule.parse({}), keepDays },
          log: silentLog,
        }),
        never,
      );
    expect(await sweep(1)).toBe(0);
    expect(await sweep(0)).toBe(2);
    expect(gone).toEqual(['f/inbox/a', 'f/inbox/.pictures/a.jpg', 'f/inbox/b', 'f/inbox/.pictures/b.jpg']);
    expect(await sweep(0)).toBe(2);
    expect(await store.keptFiles.keptBytes('telegram:7', 0)).toBe(0);
    expect(await store.keptFiles.forgetOlderFiles(0, 1)).toBe(1);
    const fenced = store.ledger.noteFiles({ ...head, epoch: head.epoch + 1 }, accepted.turnId, files);
    await expect(fenced).rejects.toMatchObject({ code: 'fenced' });
  });
});
