/** The list of tools; a new tool is one file here and one line below. */
import type { Egress } from '../contracts/tool.ts';
import type { MemoryStore } from '../contracts/notes.ts';
import type { Post } from '../contracts/delivery.ts';
import type { ScratchpadStore } from '../contracts/notes.ts';
import type { TodoStore } from '../contracts/notes.ts';
import type { Schedules } from '../contracts/schedules.ts';
import type { Tool } from '../contracts/tool.ts';
import { createCron } from './cron.ts';
import { editFile } from './files/edit-file.ts';
import { createExec } from './exec/exec.ts';
import { listDir } from './files/list-dir.ts';
import { createMemory } from './memory.ts';
import { createMessage } from './message.ts';
import { readFile } from './files/read-file.ts';
import type { Sandbox } from './exec/sandbox.ts';
import { spawnAgent } from './spawn-agent.ts';
import { createScratchpadTool } from './scratchpad.ts';
import { createTodoTool } from './todo.ts';
import { createWebFetch } from './web/web-fetch.ts';
import { createWebSearch } from './web/web-search.ts';
import type { BraveSearch } from './web/web-search.ts';
import { createSwitchProfile } from './switch-profile.ts';
import type { ProfileSwitching } from './switch-profile.ts';
import { writeFile } from './files/write-file.ts';

export { createSandbox } from './exec/sandbox.ts';
export { openWorkspace } from './files/workspace.ts';

/** What the tools reach besides the workspace. */
export interface ToolsOptions {
  /** For pages the model chooses: public addresses only. */
  egress: Egress;
  search: BraveSearch;
  /** Undefined: programs are not run. */
  sandbox: Sandbox | undefined;
  memories: MemoryStore;
  todos: TodoStore;
  scratchpad: ScratchpadStore;
  profiles: ProfileSwitching;
  schedules: Schedules;
  post: Post;
}

export function createTools(options: ToolsOptions): readonly Tool[] {
  const { egress, search, sandbox, post, memories, todos, scratchpad, profiles, schedules } = options;
  return [
    listDir,
    readFile,
    writeFile,
    editFile,
    createExec(sandbox),
    spawnAgent,
    createMessage(post),
    createWebFetch(egress),
    createWebSearch(search),
    createMemory(memories),
    createTodoTool(todos),
    createScratchpadTool(scratchpad),
    createSwitchProfile(profiles),
    createCron(schedules),
  ];
}
