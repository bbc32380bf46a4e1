/** The administration of a fake gateway: empty, except for what tests set. */
import type { Administration } from '../../../src/protocol/operator/administration.ts';

const nothing = async (): Promise<boolean> => false;

/** Creates it. */
export function fakeAdministration(): Administration {
  return {
    access: async () => ({ pairings: [], grants: [], channels: [] }),
    approvePairing: async () => ({ channel: 'telegram', id: '1', isOwner: false }),
    addGrant: async () => undefined,
    removeGrant: nothing,
    tokens: async () => [],
    createToken: () => Promise.reject(new Error('the fake makes no tokens')),
    renameToken: nothing,
    rotateToken: async () => undefined,
    revokeToken: nothing,
    profiles: () => ({ profiles: [], errors: [] }),
    memories: async () => [],
    removeMemory: nothing,
    deadLetters: async () => ({ letters: [], more: false }),
    retryDeadLetter: nothing,
    dropDeadLetter: nothing,
    log: async () => [],
    config: () => ({
      file: 'config.json',
      version: '1',
      schema: {},
      written: {},
      values: {},
      environment: [],
      problems: [],
      needsRestart: [],
      afterRestart: [],
    }),
    changeConfig: () => ({ kind: 'stale' }),
    channelSetups: () => [],
    setUpChannel: async () => undefined,
    profile: () => undefined,
    createProfile: async () => ({ kind: 'unknown' }),
    changeProfile: async () => ({ kind: 'unknown' }),
    removeProfile: async () => ({ kind: 'unknown' }),
  };
}
