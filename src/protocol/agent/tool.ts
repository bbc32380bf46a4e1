/** The tool contract: something the model may call, its input, and its result. */
import type { FolderState, NamedFile, PersonQuestion } from './approvals.ts';
import type { EventBody } from '../event.ts';
import type { Log } from '../log.ts';
import type { Address, SessionKey } from '../message.ts';
import type { Reach, ResultSource, Source, ToolEffect, ToolRisk } from './risk.ts';
import type { Changeable, FileMark, StayReason } from './call-note.ts';
import type { Spawn } from './subagents.ts';
import type { z } from 'zod';
import type { WriteCommand } from '../isomorphic/fill-text.js';
import type { TextRef } from '../texts/say.ts';

export type { ToolEffect, ToolRisk } from './risk.ts';

/** What a user may do: an owner changes settings and decides for others. */
export type UserRole = 'owner' | 'user' | 'system';

/** Everything a tool may use; passed to each call, never ambient (B-06, N-12). */
export interface ToolContext {
  sessionKey: SessionKey;
  address: Address;
  /** Whom the turn answers, as a user id: `telegram:42`, `token:<id>`, `system`. */
  userId: string;
  /** Whose memories the turn reads and writes: that user's, or those of the end user that a client named. */
  memoryOwner: string;
  /** The rights of that user; `system`: no one wrote the message (a schedule, a heartbeat, a report). */
  userRole: UserRole;
  /** Their name on the platform; absent if there is none, and in the background. */
  userName?: string | undefined;
  /** The model that made the call; absent if a plan makes it before a model was called. */
  model?: string | undefined;
  /** Whether others may read the answer; absent = they may. */
  place?: 'private' | 'group' | undefined;
  turnId: string;
  agentId?: string | undefined;
  profileId: string;
  /** A todo is only done with a validation (N-38). */
  stepValidation?: boolean | undefined;
  /** Absolute path of the folder this session's files live in; it exists. */
  workspace: string;
  /** Its name, by which the gateway finds it on any node. */
  folder: string;
  /** Absolute path of the operator's skills, read-only, which `skills/…` leads to; absent = there are none. */
  skills?: string | undefined;
  /** The same for every attempt of this call: the key of an `idempotent` effect. */
  callKey: string;
  /** Sources of the text that the turn has read: stored with whatever is kept from it. Unset = unknown, which counts as tainted. */
  sources?: readonly Source[] | undefined;
  /** A command as the people of this chat write it (`/link`, `!link`); absent = with a slash. */
  command?: WriteCommand | undefined;
  signal: AbortSignal;
  log: Log;
  emit(body: EventBody): void;
  /** Shows one line of progress to people who watch; lines that follow too soon are dropped. Never throws. */
  progress(text: string): void;
  /** Starts a subagent; absent if that is not allowed (in a subagent, in a stateless completion). */
  spawn?: Spawn | undefined;
}

/** Who calls a tool, and where. */
export type ToolCaller = Pick<ToolContext, 'sessionKey' | 'address' | 'userId' | 'userRole' | 'place'>;

/** What the model reads; the caller clips longer content with a marker. */
export interface ToolResult {
  content: string;
  isError?: boolean;
  /** Where this result's text comes from, when it differs from the tool's `results`. */
  source?: ResultSource | undefined;
  /** Instead of `source`, for text that was stored with its sources; empty = trusted. */
  sources?: readonly Source[] | undefined;
  /** Name of the source for the model and for people, such as the address of a page. */
  from?: string | undefined;
  /** Addresses that the result lists, in its order: the model may read them, starting with the first. */
  addresses?: readonly string[] | undefined;
  /** References (`Pictures`) of pictures that vision models are shown with the result. */
  pictures?: readonly string[] | undefined;
}

/**
 * `execute` may throw anything: it becomes an error result for the model (B-48). What approvals depend on (`effect`,
 * `risk`, `results`, `reach`) has no default: each tool sets it.
 */
export interface Tool<Args = unknown> {
  readonly name: string;
  readonly description: string;
  readonly parameters: z.ZodType<Args>;
  /** JSON Schema of the arguments, which the model gets unchanged; unset = made from `parameters`. */
  readonly schema?: Readonly<Record<string, unknown>> | undefined;
  readonly server?: string | undefined;
  /** Who wrote its description and schema, when it is neither the gateway nor the operator: a turn that is offered it is tainted. */
  readonly describedBy?: Source | undefined;
  readonly effect: ToolEffect;
  /** Longest run of one call in milliseconds; unset = the gateway's limit. */
  readonly limitMs?: number;
  /** Consecutive calls of it in one model answer may run at the same time. */
  readonly sideBySide?: boolean;
  /** Danger of one call by its arguments alone. Never throws. */
  risk(args: Args): ToolRisk;
  /** Why a call is dangerous, as the end of "it …": "deletes files"; a string is shown as it is. */
  warning?(args: Args): string | TextRef | undefined;
  /** Where the text of its results comes from; anything but `operator` and `verified` taints the session. */
  readonly results: ResultSource;
  /** Where the call has effects. Never throws. */
  reach(args: Args): Reach;
  /**
   * Of a tool that can write to other people: whose chat the call writes to, if it is none of the caller's own. A person
   * approves the first call for each such chat. Throws `StoreError`.
   */
  target?(args: Args, caller: ToolCaller): Promise<{ address: Address; label: TextRef } | undefined>;
  /**
   * Of a tool whose result is another person's answer: whom the call asks what. The turn waits for it, and `execute` is
   * not called. Throws `ToolError` for someone who cannot be asked, and `StoreError`.
   */
  question?(
    args: Args,
    caller: ToolCaller,
  ): Promise<Omit<PersonQuestion, 'label' | 'asker'> & { label: TextRef }>;
  /**
   * Of a tool that may change files: the words of a call that may name some. The content of those that exist is part of
   * what a person approves. Never throws.
   */
  files?(args: Args): readonly string[];
  /** Of a tool that runs files: the words of a file's text that may name more, to be approved with it. Never throws. */
  filesIn?(text: string): readonly string[];
  /**
   * Of a tool that runs programs in the folder, which may use any file there: the state of all of them is part of what a
   * person approves. A rule may cover a call that only `reads` files, never one that may run them. Never throws.
   */
  uses?(args: Args): 'reads' | 'anything';
  /**
   * What a call changes in the gateway, so that an undo can bring it back. Unset, an undo names each call that is not
   * `pure` as what it cannot bring back. Never throws.
   */
  changes?(args: Args): readonly Changeable[];
  /** What no undo brings back, such as "the message to Ann", after which it stays; undefined = nothing. Never throws. */
  lasting?(args: Args): TextRef | undefined;
  /** Does the work; `args` have passed `parameters`. */
  execute(args: Args, ctx: ToolContext): Promise<ToolResult>;
}

/** Returns the tool as the untyped `Tool` that lists contain; its argument type stays inside its own file. */
export function defineTool<Args>(tool: Tool<Args>): Tool {
  return tool;
}

/** The folder of completions without a session: their tools find it empty, because none of them writes. */
export const STATELESS_FOLDER = 'stateless';

/** Most files listed per folder. */
export const MAX_LISTED_FILES = 500;

/** A file of a session's folder, as listed. */
export interface FolderFile {
  /** Relative to the folder. */
  path: string;
  bytes: number;
  changedAt: Date;
}

/**
 * The folders of all sessions on this machine; a session's row has its folder's name. Nodes of one database share files
 * through it (`FileStore`).
 */
export interface SessionFiles {
  /**
   * Creates the folder (mode 0700) if necessary, and fetches other nodes' changes; returns its absolute path. Throws
   * `ToolError` or `StoreError`.
   */
  open(folder: string): Promise<string>;
  /**
   * Shares changes in the folder with the other nodes, after each call that may have made some. Returns the paths that
   * are not shared: larger than `MAX_SHARED_BYTES`, or not plain files. Throws `StoreError`.
   */
  share(folder: string): Promise<string[]>;
  /**
   * The files among `words` (paths in the folder, or anything else), sorted; a name below a folder among them counts,
   * too. With `wordsIn`, also files that their texts name, up to `MAX_NAMED_FILES`. Throws
   * `ToolError('too_many_files')` when `words` alone name more, or one for a file that cannot be read.
   */
  named(
    folder: string,
    words: readonly string[],
    wordsIn?: (text: string) => readonly string[],
  ): Promise<NamedFile[]>;
  /**
   * What the folder contains now; cheap where little has changed since the last time. Throws `ToolError`:
   * `workspace_full` for more bytes or entries than a folder may have, `unreadable` for what cannot be looked at.
   */
  state(folder: string): Promise<FolderState>;
  /** Every file and link of the folder, for an undo. Throws as `state` does. */
  marks(folder: string): Promise<readonly FileMark[]>;
  /**
   * Streams a file into the folder, completely or not at all, and to the other nodes like `share`. A file at that path
   * is replaced unless it has the same content. Throws `ToolError`: `too_large`, `empty`, `workspace_full`, `no_space`,
   * `bad_path`, `refused`; and what `chunks` throws.
   */
  put(folder: string, file: ArrivingFile): Promise<StoredFile>;
  /**
   * Opens a plain file of the folder for reading. Throws `ToolError`: `bad_path`, `not_found`, `refused`, `elsewhere` for one that
   * only another node has.
   */
  read(folder: string, path: string): Promise<OpenedFile>;
  /** The folder's plain files, sorted by path, at most `MAX_LISTED_FILES`; none if it is missing. Throws `ToolError`. */
  list(folder: string): Promise<{ files: FolderFile[]; more: boolean }>;
  /** Removes a plain file of the folder; false when there is none. Throws `ToolError`: `bad_path`, `refused`. */
  discard(folder: string, path: string): Promise<boolean>;
  /**
   * Copies a folder's plain files, as they are now, into another one, which the other nodes get. Throws `ToolError`,
   * also `workspace_full`.
   */
  copy(from: string, to: string): Promise<void>;
  /** Removes the folder with everything in it. Never throws: false when something remains, which is logged. */
  remove(folder: string): Promise<boolean>;
}

/** The earlier contents of the sessions' files, for an undo. `paths`: undefined = all of the folder. */
export interface FileJournal {
  /** What is at the paths, whose contents are stored within the limits of an undo. Throws `ToolError`, `StoreError`. */
  before(folder: string, paths: readonly string[] | undefined): Promise<readonly FileMark[]>;
  /** What is at the paths. Throws `ToolError`, `StoreError`. */
  marks(folder: string, paths: readonly string[] | undefined): Promise<readonly FileMark[]>;
  /**
   * Puts a file back as it was, if it is `from` now; why not, if it stays. Safe to repeat. Throws `StoreError`, and
   * `ToolError` for a folder that cannot be opened.
   */
  restore(folder: string, to: FileMark, from: FileMark): Promise<StayReason | undefined>;
  /** Runs `work` while no call changes a file of the folder. Throws the signal's reason when it aborts before. */
  exclusively<T>(folder: string, signal: AbortSignal, work: () => Promise<T>): Promise<T>;
}

/** A file on its way into a session's folder. */
export interface ArrivingFile {
  chunks: AsyncIterable<Uint8Array>;
  /** A longer file is refused as soon as that becomes apparent. */
  maxBytes: number;
  /** Its path relative to the folder, once its content is known; missing folders are created. */
  pathOf(content: Omit<StoredFile, 'path'>): string;
}

/** A completely stored file of a session's folder. */
export interface StoredFile {
  /** Relative to the folder. */
  path: string;
  bytes: number;
  /** Of its content, hexadecimal. */
  sha256: string;
}

/** A plain file, held open until it is disposed or `chunks` has been read to the end. */
export interface OpenedFile extends AsyncDisposable {
  bytes: number;
  head(length: number): Promise<Uint8Array>;
  changedAt: Date;
  /** The content from `from` to before `to`, by default all `bytes` of it, even if the file grows in the meantime. */
  chunks(from?: number, to?: number): AsyncIterable<Uint8Array>;
}

/** Largest file that nodes share, in bytes: as large as a file that a tool writes. */
export const MAX_SHARED_BYTES = 1024 * 1024;

/** A file of a session's folder as the database keeps it. */
export interface SharedFile {
  /** Relative to the folder. */
  path: string;
  /** Of its content, hexadecimal. */
  sha256: string;
}

/** The files of sessions' folders in the database. Throws only `StoreError`. */
export interface FileStore {
  /** Rises with each change of the folder's files; 0 = none was ever stored. */
  version(folder: string): Promise<number>;
  list(folder: string): Promise<{ version: number; files: SharedFile[] }>;
  /** The content; undefined when it is gone. */
  read(folder: string, path: string): Promise<Buffer | undefined>;
  /** True when a message brought a file of more than `MAX_SHARED_BYTES` there: only the node that received it has it. */
  isTooLarge(folder: string, path: string): Promise<boolean>;
  /** Stores files and forgets others; returns the new version. The folder of a deleted session stays empty. */
  save(folder: string, change: { put: (SharedFile & { bytes: Buffer })[]; gone: string[] }): Promise<number>;
}

export interface EgressRequest {
  /** http or https; anything else is refused. */
  url: string;
  /** Sent to the first origin only: a redirect to another origin drops all of them. */
  headers?: Readonly<Record<string, string>>;
  /** Makes it a POST of this as JSON, which follows no redirect; only to services that the operator configured. */
  json?: Readonly<Record<string, unknown>>;
  /** The same with these bytes, whose type the headers name. */
  bytes?: Uint8Array;
  signal: AbortSignal;
}

export interface EgressResponse {
  /** Where the answer came from, after redirects. */
  url: string;
  status: number;
  /** The `content-type` header, lower-cased, or ''. */
  contentType: string;
  /** Decoded and complete: a body over the size limit is refused, never truncated. */
  body: Buffer;
}

/**
 * A request. Throws `GatewayError`: `bad_url`, `refused_address`, `too_many_redirects`, `too_large`, `too_slow`,
 * `bad_response`, `unreachable` (only the last and `too_slow` are retryable), `aborted`.
 */
export type Egress = (request: EgressRequest) => Promise<EgressResponse>;

/** `connecting`: for the first time; `up`; `down`: lost or refused, and retried; `closed`: the gateway is stopping. */
export type McpState = 'connecting' | 'up' | 'down' | 'closed';

/** One MCP server as it is now. */
export interface McpServerStatus {
  /** As in `mcp.servers` of config.json. */
  name: string;
  state: McpState;
  trusted: boolean;
  tools: readonly string[];
  prompts: readonly string[];
  error?: string | undefined;
  /** Which of its tools are left out or simplified, and why; for operators. */
  notices: readonly string[];
}

/** What the nodes of a database report about their servers. Throws only `StoreError`. `instance` names a home. */
export interface McpStatusStore {
  /** Replaces this instance's previous report. */
  saveMcpStatus(instance: string, servers: readonly McpServerStatus[]): Promise<void>;
  /** From the gateways that are running now, by instance. */
  mcpStatus(): Promise<{ instance: string; servers: McpServerStatus[] }[]>;
}

interface McpPromptArgument {
  name: string;
  required: boolean;
}

/** A prompt that a server offers to people. */
export interface McpPrompt {
  server: string;
  name: string;
  description: string;
  arguments: readonly McpPromptArgument[];
}

/** Requests like `fetch` to services that the operator configured; `close` ends its connections and never throws. */
export interface ServiceFetch {
  request: (url: string | URL, init?: RequestInit) => Promise<Response>;
  close: () => Promise<void>;
}
