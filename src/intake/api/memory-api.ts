/** The facts about the caller: it reads and deletes only what is remembered for its own token. */
import type { Caller } from '../../contracts/access.ts';
import type { MemoryApi } from '../../contracts/memory-api.ts';
import {
  MAX_MEMORIES,
  MAX_UNVERIFIED_MEMORIES,
  type MemoryStore,
  type UserId,
} from '../../contracts/store/notes.ts';

/** Makes the `MemoryApi`. */
export function createMemoryApi(memories: Pick<MemoryStore, 'memories' | 'deleteMemories'>): MemoryApi {
  return {
    own: (caller) => memories.memories(userOf(caller), MAX_MEMORIES + MAX_UNVERIFIED_MEMORIES),
    deleteMemory: async (caller, id) => (await memories.deleteMemories(userOf(caller), id)) > 0,
  };
}

function userOf({ tokenId }: Caller): UserId {
  return `token:${tokenId}`;
}
