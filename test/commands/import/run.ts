/** Runs `parley import` on the store of a test. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { importCommand } from '../../../src/commands/import/import.ts';
import { loadConfig } from '../../../src/config.ts';
import type { SessionKey } from '../../../src/protocol/message.ts';
import type { TestStore } from '../../database.ts';

/** A home and a store with an admin's token, ready for imports. */
export async function importer(store: TestStore) {
  const home = mkdtempSync(path.join(tmpdir(), 'parley-import-home-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const config = loadConfig({ GATEWAY_HOME: home });
  const { tokenId } = await store.access.putToken({ name: 'first', hash: 'h', scopes: ['chat', 'admin'] });
  const homeStore = { ...store, instance: 'import', leaving: () => undefined };
  return {
    home,
    tokenId,
    run: (...args: string[]) => importCommand(args)(homeStore, config),
    /** The sessions of the token: title and messages, oldest session first. */
    chats: async (): Promise<{ title: string | undefined; messages: string[] }[]> => {
      const keys = await store.sql<
        { key: SessionKey; title: string }[]
      >`select key, title from session order by updated_at, title`;
      return await Promise.all(
        keys.map(async ({ key, title }) => ({
          title,
          messages: (await store.ledger.messages(key, { limit: 200 })).map(
            ({ role, content }) => `${role}: ${content}`,
          ),
        })),
      );
    },
  };
}
