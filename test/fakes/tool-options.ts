/** Everything the list of tools is created with, where none of it is real and nothing leaves the machine. */
import { GatewayError, ToolError } from '../../src/protocol/errors.ts';
import type { DocumentText } from '../../src/protocol/media.ts';
import type { MemoryStore } from '../../src/protocol/store/notes.ts';
import { defaultProfile } from '../../src/agent/profiles/built-in.ts';
import { createEgress } from '../../src/security/index.ts';
import type { ToolsOptions } from '../../src/tools/index.ts';
import { createReadFile } from '../../src/tools/files/read-file.ts';
import { noOtherChats } from './agent/find-chat.ts';
import { memoryScratchpad, memoryTodos } from './notebooks.ts';
import { noSchedules } from './stores/schedules.ts';

/** Names resolve to nothing here, so nothing leaves the machine. */
const egress = createEgress({ resolve: async () => [] });
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
  deleteMemories: async () => 0,
};
const profiles = {
  profiles: () => [defaultProfile()],
  isOwner: async () => true,
  check: async () => undefined,
  setProfile: async () => undefined,
};
/** For tests in which no file is a document. */
export const noDocuments: DocumentText = async () => {
  throw new GatewayError('no_text', 'it holds no text');
};
export const toolOptions: ToolsOptions = {
  egress,
  search: () => undefined,
  sandbox: () => undefined,
  memories,
  todos: memoryTodos(),
  scratchpad: memoryScratchpad(),
  profiles,
  schedules: noSchedules,
  keepFile: async () => {
    throw new ToolError('not_found', 'There are no files here.');
  },
  post: async () => ({ kind: 'foreign' as const }),
  findChat: noOtherChats,
  chatSettings: { chatSetting: async () => undefined },
  documentText: noDocuments,
  knowledge: { search: async () => [] },
};

/** The tool that reads files, where only plain text can be read. */
export const readFile = createReadFile(noDocuments);
