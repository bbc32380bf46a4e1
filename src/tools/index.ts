/** The list of tools: a new tool is its file and one line in `createTools`. Every other place derives names from the list. */
import { ConfigError } from '../protocol/errors.ts';
import type { ChatSettingStore } from '../protocol/channel.ts';
import type { FindChat, Post } from '../protocol/delivery.ts';
import type { DocumentText, OutgoingFiles } from '../protocol/media.ts';
import type { MemoryStore, ScratchpadStore, TodoStore } from '../protocol/store/notes.ts';
import { ALL_MCP_TOOLS, DEFAULT_TOOLS, isMcpTool, MCP_RESOURCE_TOOLS } from '../protocol/agent/profile.ts';
import type { Schedules } from '../protocol/schedules.ts';
import type { Egress, Tool } from '../protocol/agent/tool.ts';
import { createAsk } from './ask.ts';
import { createCron } from './cron.ts';
import { createExec } from './exec/exec.ts';
import type { Sandbox } from './exec/sandbox.ts';
import { editFile } from './files/edit-file.ts';
import { listDir } from './files/list-dir.ts';
import { createReadFile } from './files/read-file.ts';
import { writeFile } from './files/write-file.ts';
import { createMemory } from './memory.ts';
import { createMessage } from './message.ts';
import { plan } from './plan.ts';
import { createScratchpadTool } from './scratchpad.ts';
import { createSendFile } from './send-file.ts';
import { spawnAgent } from './spawn-agent.ts';
import { createSwitchProfile, type ProfileSwitching } from './switch-profile.ts';
import { createTodoTool } from './todo.ts';
import { createWebFetch } from './web-fetch.ts';
import type { Search } from './web/search/search.ts';
import { createWebSearch, WEB_SEARCH } from './web-search.ts';

export { createSandbox, sandboxProblem } from './exec/sandbox.ts';
export { createOutgoingFiles } from './files/put-file.ts';
export { createSessionFiles } from './files/session-files.ts';
export { MAX_FETCHED_BYTES } from './web-fetch.ts';
export { createSearch } from './web/search/search.ts';

/** Everything the tools use apart from the workspace. */
export interface ToolsOptions {
  /** For pages the model chooses: public addresses only. */
  egress: Egress;
  /** The search that is configured now. */
  search: () => Search | undefined;
  /** Undefined while running programs is off. */
  sandbox: () => Sandbox | undefined;
  memories: MemoryStore;
  todos: TodoStore;
  scratchpad: ScratchpadStore;
  profiles: ProfileSwitching;
  schedules: Schedules;
  post: Post;
  findChat: FindChat;
  /** Who is never asked. */
  chatSettings: Pick<ChatSettingStore, 'chatSetting'>;
  /** Keeps a copy of a file that is sent. */
  keepFile: OutgoingFiles['keep'];
  documentText: DocumentText;
}

/** Makes all tools; `added` ones follow the built-in ones. Throws `ConfigError` when two have the same name. */
export function createTools(options: ToolsOptions, others: readonly Tool[] = []): readonly Tool[] {
  const { egress, post, findChat, documentText } = options;
  const tools = [
    listDir,
    createReadFile(documentText),
    writeFile,
    editFile,
    createExec(options.sandbox),
    plan,
    spawnAgent,
    createMessage(post, findChat),
    createAsk(findChat, options.chatSettings),
    createSendFile(post, findChat, options.keepFile),
    createWebFetch(egress, documentText),
    createWebSearch(options.search),
    createMemory(options.memories),
    createTodoTool(options.todos),
    createScratchpadTool(options.scratchpad),
    createSwitchProfile(options.profiles),
    createCron(options.schedules, findChat),
    ...others,
  ];
  refuseSameNames(tools);
  return tools;
}

/**
 * The tools that can be offered now: no one is asked to approve a call that cannot run. `more` returns tools that come
 * and go and yield to others of their name, `setUp` what tools need. The same list until something in it changes.
 */
export function withChangingTools(
  tools: readonly Tool[],
  more: () => readonly Tool[],
  setUp: () => SetUp,
): () => readonly Tool[] {
  const names = new Set(tools.map(({ name }) => name));
  let last: (SetUp & { others: readonly Tool[] }) | undefined;
  let all = tools;
  return () => {
    const current = { ...setUp(), others: more() };
    const { exec, searches, others } = current;
    if (others !== last?.others || searches !== last.searches || exec !== last.exec) {
      last = current;
      const builtIn = tools.filter(({ name }) => canWork(tools, name, current));
      all = [...builtIn, ...others.filter(({ name }) => !names.has(name))];
    }
    return all;
  };
}

/** Joins changing tools with those that stay; the same list until the first change. */
export function joinTools(changing: () => readonly Tool[], others: readonly Tool[]): () => readonly Tool[] {
  if (others.length === 0) return changing;
  let last: readonly Tool[] | undefined;
  let all: readonly Tool[] = others;
  return () => {
    const current = changing();
    if (current !== last) all = [...current, ...others];
    last = current;
    return all;
  };
}

interface EnabledTools {
  /** `tools.enabled` of config.json. */
  named: readonly string[] | undefined;
  tools: readonly Tool[];
  /** Tools that it always has. */
  added: readonly Tool[];
  /** Names of the configured MCP servers. */
  servers: readonly string[];
  searches: boolean;
}

/**
 * The default profile's tools: those in config.json, else the usual ones that work here, the `newTools`, and all of MCP
 * servers unless some are named. Throws a `ConfigError` that names every unknown tool.
 */
export function enabledTools({
  named: toolNames,
  tools,
  added: newTools,
  servers,
  searches,
}: EnabledTools): string[] {
  const exists = (name: string): boolean =>
    tools.some((tool) => tool.name === name) || mayBeMcpTool(name, servers);
  const unknown = (toolNames ?? []).filter((name) => !exists(name));
  if (unknown.length > 0) {
    const quoted = unknown.map((name) => `"${name.slice(0, 80)}"`).join(', ');
    const names = tools.map(({ name }) => name).join(', ');
    throw new ConfigError(
      'bad_config',
      `config.json: tools.enabled: there is no tool ${quoted}; the tools are ${names}.`,
    );
  }
  const usual = () => DEFAULT_TOOLS.filter((name) => canWork(tools, name, { exec: false, searches }));
  const choosesOfServers = toolNames?.some((name) => name === ALL_MCP_TOOLS || isMcpTool(name)) ?? false;
  const ofServers = servers.length === 0 || choosesOfServers ? [] : [ALL_MCP_TOOLS];
  return [...(toolNames ?? usual()), ...ofServers, ...newTools.map(({ name }) => name)];
}

/** What profiles may name: the tools of the default profile, and the tools that exist, can work or may come. Throws like `enabledTools`. */
export function profileTools(options: EnabledTools & SetUp) {
  const { tools, servers } = options;
  return {
    enabledTools: enabledTools(options),
    toolNames: tools.map(({ name }) => name),
    canWork: (name: string) => canWork(tools, name, options),
    mayCome: (name: string) => mayBeMcpTool(name, servers),
  };
}

/** True for the name of a tool that one of these servers may offer, and for the word that means them all. */
function mayBeMcpTool(name: string, servers: readonly string[]): boolean {
  if (name === ALL_MCP_TOOLS || MCP_RESOURCE_TOOLS.includes(name)) return true;
  return servers.some((server) => name.startsWith(`${server}__`));
}

/** What tools need from the configuration: whether programs may run, whether there is a search service. */
interface SetUp {
  exec: boolean;
  searches: boolean;
}

/** Whether there is a tool of that name and the gateway is set up for it. */
function canWork(tools: readonly Tool[], name: string, { exec, searches }: SetUp): boolean {
  if (name === 'exec') return exec;
  return tools.some((tool) => tool.name === name) && (name !== WEB_SEARCH || searches);
}

/** Two tools with the same name would shadow each other; the error lists their descriptions. */
function refuseSameNames(tools: readonly Tool[]): void {
  for (const [index, tool] of tools.entries()) {
    const first = tools.find(({ name }) => name === tool.name) ?? tool;
    if (tools.indexOf(first) === index) continue;
    throw new ConfigError(
      'duplicate_tool',
      `Two tools are called "${tool.name}": "${opening(first)}" and "${opening(tool)}". Rename one of them.`,
    );
  }
}

function opening({ description }: Tool): string {
  return description.slice(0, 60).toWellFormed();
}
