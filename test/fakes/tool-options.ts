/** Everything the list of tools is made with, where nothing of it is real and nothing leaves the machine. */
import type { MemoryStore } from '../../src/contracts/notes.ts';
import { defaultProfile } from '../../src/contracts/profile.ts';
import { createEgress } from '../../src/security/index.ts';
import type { ToolsOptions } from '../../src/tools/index.ts';
import { memoryScratchpad, memoryTodos } from './notebooks.ts';
import { noSchedules } from './schedules.ts';

/** Names lead nowhere here, so nothing leaves the machine. */
const egress = createEgress({ resolve: async () => [] });
const search = { apiKey: undefined, apiRoot: 'https://search.example', egress };
const FACT = {
  id: 1,
  text: 'a fact',
  session: 'telegram:1' as const,
  untrusted: false,
  createdAt: new Date(0),
};
const memories: MemoryStore = {
  remember: async () => ({ memory: FACT, isNew: true, dropped: 0 }),
  searchMemory: async () => [],
  recall: async () => [],
  memories: async () => [],
  verifyMemory: async () => false,
  forget: async () => 0,
};
const profiles = {
  profiles: () => [defaultProfile()],
  isOwner: async () => true,
  check: async () => undefined,
  ledger: { updateSession: async () => undefined },
};
export const toolOptions: ToolsOptions = {
  egress,
  search,
  sandbox: undefined,
  memories,
  todos: memoryTodos(),
  scratchpad: memoryScratchpad(),
  profiles,
  schedules: noSchedules,
  post: async () => ({ kind: 'foreign' as const }),
};
