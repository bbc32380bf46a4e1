/** The list of tools: a new tool is its file and one line in `createTools`. Every other place derives names from the list. */
import { ConfigError } from '../contracts/errors.ts';
import type { Post } from '../contracts/delivery.ts';
import type { MemoryStore, ScratchpadStore, TodoStore } from '../contracts/notes.ts';
import type { Schedules } from '../contracts/schedules.ts';
import type { Egress, Tool } from '../contracts/tool.ts';
import { createCron } from './cron.ts';
import { createExec } from './exec/exec.ts';
import type { Sandbox } from './exec/sandbox.ts';
import { editFile } from './files/edit-file.ts';
import { listDir } from './files/list-dir.ts';
import { readFile } from './files/read-file.ts';
import { writeFile } from './files/write-file.ts';
import { createMemory } from './memory.ts';
import { createMessage } from './message.ts';
import { createScratchpadTool } from './scratchpad.ts';
import { spawnAgent } from './spawn-agent.ts';
import { createSwitchProfile } from './switch-profile.ts';
import type { ProfileSwitching } from './switch-profile.ts';
import { createTodoTool } from './todo.ts';
import { createWebFetch } from './web/web-fetch.ts';
import { createWebSearch } from './web/web-search.ts';
import type { BraveSearch } from './web/web-search.ts';

export { createSandbox } from './exec/sandbox.ts';
export { openWorkspace } from './files/workspace.ts';

/** Everything the tools use besides the workspace. */
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

/** Makes all tools; `added` ones follow the built-in ones. Throws `ConfigError` when two have the same name. */
export function createTools(options: ToolsOptions, added: readonly Tool[] = []): readonly Tool[] {
  const { egress, search, sandbox, post, memories, todos, scratchpad, profiles, schedules } = options;
  const tools = [
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
    ...added,
  ];
  refuseSameNames(tools);
  return tools;
}

/** Checks `tools.enabled` of config.json against the list. Throws `ConfigError` that names every unknown tool. */
export function checkEnabledTools(enabled: readonly string[], tools: readonly Tool[]): void {
  const names = tools.map(({ name }) => name);
  const unknown = enabled.filter((name) => !names.includes(name));
  if (unknown.length === 0) return;
  const named = unknown.map((name) => `"${name.slice(0, 80)}"`).join(', ');
  throw new ConfigError(
    'bad_config',
    `config.json: tools.enabled: there is no tool ${named}; the tools are ${names.join(', ')}.`,
  );
}

/** Two tools of one name would shadow each other; their descriptions tell them apart. */
function refuseSameNames(tools: readonly Tool[]): void {
  const known = new Map<string, Tool>();
  for (const tool of tools) {
    const earlier = known.get(tool.name);
    if (earlier !== undefined) {
      throw new ConfigError(
        'duplicate_tool',
        `Two tools are called "${tool.name}": "${opening(earlier)}" and "${opening(tool)}". Rename one of them.`,
      );
    }
    known.set(tool.name, tool);
  }
}

function opening({ description }: Tool): string {
  return description.slice(0, 60).toWellFormed();
}
