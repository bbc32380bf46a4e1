/** What the gateways on this database started with, so that settings which differ can be named. */
import type { NodeSettings, NodeSettingsStore } from '../../contracts/operator/nodes.ts';
import type { Database } from '../database/database.ts';
import { nodeSettings } from '../database/schema.ts';

/** Makes the store of these rows. */
export function createNodeSettings(database: Database): NodeSettingsStore {
  return {
    saveNodeSettings: (instance, { version, digests }: NodeSettings) =>
      database.query(async (orm) => {
        const set = { version, digests: { ...digests } };
        await orm
          .insert(nodeSettings)
          .values({ instance, ...set })
          .onConflictDoUpdate({ target: nodeSettings.instance, set });
      }),
  };
}
