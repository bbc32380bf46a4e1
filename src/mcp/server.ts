/** One MCP server: connects in the background, reconnects after any failure, and keeps the lists of what it offers. */
import { setMaxListeners } from 'node:events';
import { z } from 'zod';
import { ToolError } from '../protocol/errors.ts';
import type { KeepToolFile } from '../protocol/media.ts';
import type { McpPrompt, McpServerStatus, McpState, Tool, ToolContext } from '../protocol/agent/tool.ts';
import { backoffMs } from '../lib/async/backoff.ts';
import { pauseOn } from '../lib/clock.ts';
import { oneLine } from '../lib/text.ts';
import {
  type AskOptions,
  connect,
  type Connection,
  type ConnectionDeps,
  listAll,
  pingUntilLost,
} from './connection.ts';
import { callResult, declinedText, progressText, readResult } from './content.ts';
import { lossOf, messageOf } from './failures.ts';
import type { McpServerSettings } from './settings.ts';
import { type TakenTools, takeTools } from './server-tools.ts';

/** Maximum number of prompts kept per server, and of arguments per prompt. */
const MAX_PROMPTS = 50;

const MAX_ARGUMENTS = 20;

/** Longest name and description that are kept, in UTF-16 units. */
const MAX_NAME_CHARS = 80;

const MAX_DESCRIPTION_CHARS = 200;

const name = z.string().min(1).max(MAX_NAME_CHARS).regex(/^\S+$/);

const listedPrompt = z.looseObject({
  name,
  description: z.string().default(''),
  arguments: z
    .array(z.looseObject({ name, required: z.boolean().default(false) }))
    .max(MAX_ARGUMENTS)
    .default([]),
});

/** First pause before reconnecting a server, which doubles with each failure, and the longest one; in milliseconds. */
export const FIRST_PAUSE_MS = 1_000;
export const LONGEST_PAUSE_MS = 5 * 60_000;
/** A connection that lasted this long counts as good: the pauses start again. In milliseconds. */
const GOOD_MS = 60_000;
/** Pause between two reads of the lists, however often the server reports changes. In milliseconds. */
const RELIST_MS = 500;
/** Longest wait for running calls on a server whose settings were changed or removed, in milliseconds. */
export const RETIRE_MS = 30_000;
/** Longest error that is kept, in UTF-16 units. */
const MAX_ERROR_CHARS = 500;

interface McpServerDeps extends ConnectionDeps {
  /** Stores the pictures and sounds in results. */
  keepFile: KeepToolFile;
  /** The tools, prompts or state have changed. */
  onChanged(): void;
}

const NOTHING: TakenTools = { tools: [], notices: [] };

/** A server, from `start` to `close`. Its tools stay listed while it is down: their calls then report it. */
export class McpServer {
  readonly name: string;
  readonly #deps: McpServerDeps;
  readonly #closing = new AbortController();
  #state: McpState = 'connecting';
  #connection: Connection | undefined;
  #taken = NOTHING;
  #prompts: readonly McpPrompt[] = [];
  #error: string | undefined;
  #wake = new AbortController();
  #life: Promise<void> | undefined;
  #stale = false;
  #isListing = false;
  /** Why it accepts no more calls. */
  #retired: string | undefined;
  #calls = 0;
  /** Questions to people that were declined. */
  #questions = { count: 0, last: '' };
  readonly #idle = new AbortController();
  /** The sign-in of its last connection. */
  #login = '';

  constructor(deps: McpServerDeps) {
    this.#deps = deps;
    this.name = deps.settings.name;
    // Every wait of this server ends with it.
    setMaxListeners(0, this.#closing.signal);
  }

  get settings(): McpServerSettings {
    return this.#deps.settings;
  }

  get tools(): readonly Tool[] {
    return this.#taken.tools;
  }

  get prompts(): readonly McpPrompt[] {
    return this.#prompts;
  }

  /** True if the server has resources. */
  get hasResources(): boolean {
    return this.#connection?.can.resources ?? false;
  }

  get status(): McpServerStatus {
    return {
      name: this.name,
      state: this.#state,
      trusted: this.#deps.settings.trusted,
      tools: this.#taken.tools.map(({ name }) => name),
      prompts: this.#prompts.map(({ name }) => name),
      notices: this.#taken.notices,
      error: this.#error,
    };
  }

  /** Starts connecting; returns at once and never throws. */
  start(): void {
    this.#life ??= this.#live().catch((error: unknown) =>
      this.#deps.log.error({ err: error }, 'mcp_server_given_up'),
    );
  }

  /**
   * Accepts no more calls, and closes once the running ones have ended, or after `RETIRE_MS`: then their callers, and all
   * later ones, get `reason`. Never throws.
   */
  async retire(reason: string): Promise<void> {
    this.#retired = reason;
    const end = AbortSignal.any([this.#closing.signal, this.#idle.signal]);
    if (this.#calls > 0) await pauseOn(this.#deps.clock, RETIRE_MS, end);
    await this.close();
  }

  /** Ends the connection, and a program with it. Never throws. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#life;
    this.#change('closed');
  }

  /** Sends a request. Throws `ToolError`: `unavailable` while not connected (and reconnects at once), `failed` if refused. */
  async ask<Result>(
    method: string,
    params: Record<string, unknown>,
    schema: z.ZodType<Result>,
    signal: AbortSignal,
    onprogress?: AskOptions['onprogress'],
  ): Promise<Result> {
    const connection = this.#connected();
    this.#calls += 1;
    try {
      return await connection.request({ method, params }, schema, { signal, onprogress });
    } catch (error) {
      signal.throwIfAborted();
      const isLost = lossOf(error) !== undefined;
      const reason = (isLost ? this.#retired : undefined) ?? this.#clean(messageOf(error));
      const text = isLost ? `${reason} Whether it took effect is unknown.` : reason;
      throw new ToolError('failed', text, { cause: error });
    } finally {
      this.#calls -= 1;
      if (this.#calls === 0 && this.#retired !== undefined) this.#idle.abort();
    }
  }

  /** The server's resources, as it lists them. Throws `ToolError`. */
  async listResources(signal: AbortSignal): Promise<{ resources: unknown[]; templates: unknown[] }> {
    const connection = this.#connected();
    try {
      const resources = await listAll(connection, 'resources/list', signal);
      return { resources, templates: await listAll(connection, 'resources/templates/list', signal) };
    } catch (error) {
      signal.throwIfAborted();
      throw new ToolError('failed', this.#clean(messageOf(error)), { cause: error });
    }
  }

  /** Connects at once if someone has signed in to the server since the last try. Never throws. */
  followLogin(): void {
    if (this.#deps.logins.stamp(this.name) !== this.#login) this.#wake.abort();
  }

  #connected(): Connection {
    if (this.#retired !== undefined) throw new ToolError('unavailable', this.#retired);
    if (this.#connection !== undefined) return this.#connection;
    this.#wake.abort();
    const reason = this.#error === undefined ? '' : `: ${this.#error}`;
    const text = `The MCP server "${this.name}" is not connected${reason}`;
    throw new ToolError('unavailable', text, { retryable: true });
  }

  async #live(): Promise<void> {
    const { clock, log } = this.#deps;
    const { signal } = this.#closing;
    for (let failures = 0; !signal.aborted; failures += 1) {
      const since = clock.monotonicMs();
      const reason = await this.#connectOnce(signal);
      if (signal.aborted) return;
      this.#error = this.#clean(reason);
      this.#change('down');
      if (clock.monotonicMs() - since >= GOOD_MS) failures = 0;
      const waitMs = backoffMs(failures, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
      log.warn({ error: this.#error, waitMs }, 'mcp_server_down');
      this.#wake = new AbortController();
      await pauseOn(clock, waitMs, AbortSignal.any([signal, this.#wake.signal]));
    }
  }

  /** One connection from beginning to end; returns the reason of its end. Never throws. */
  async #connectOnce(signal: AbortSignal): Promise<string> {
    let connection: Connection | undefined;
    this.#login = this.#deps.logins.stamp(this.name);
    try {
      const onQuestion = (last: string): void => {
        this.#questions = { count: this.#questions.count + 1, last };
      };
      connection = await connect(this.#deps, { onListChanged: () => this.#relist(), onQuestion }, signal);
      await this.#list(connection, signal);
      this.#connection = connection;
      this.#error = undefined;
      this.#change('up');
      this.#deps.log.info({ tools: this.#taken.tools.length }, 'mcp_server_up');
      if (this.#stale) this.#relist();
      return await this.#untilLost(connection, signal);
    } catch (error) {
      return messageOf(error);
    } finally {
      this.#connection = undefined;
      await connection?.close();
    }
  }

  /** Periodically checks whether the server is alive, until it is not, or the gateway stops. */
  async #untilLost(connection: Connection, signal: AbortSignal): Promise<string> {
    const pinging = new AbortController();
    const { clock, log } = this.#deps;
    const silence = pingUntilLost(connection, clock, log, AbortSignal.any([signal, pinging.signal]));
    const reason = await Promise.race([connection.lost, silence]);
    pinging.abort();
    return reason;
  }

  /** Reads the lists again, once for any number of notifications in the meantime. Never throws. */
  #relist(): void {
    this.#stale = true;
    if (this.#isListing) return;
    this.#isListing = true;
    void this.#listAgain().finally(() => {
      this.#isListing = false;
    });
  }

  async #listAgain(): Promise<void> {
    const { clock, log } = this.#deps;
    const { signal } = this.#closing;
    for (;;) {
      const connection = this.#connection;
      if (connection === undefined || !this.#stale || signal.aborted) return;
      this.#stale = false;
      try {
        await this.#list(connection, signal);
        this.#deps.onChanged();
      } catch (error) {
        log.warn({ err: error }, 'mcp_lists_unread');
      }
      await pauseOn(clock, RELIST_MS, signal);
    }
  }

  async #list(connection: Connection, signal: AbortSignal): Promise<void> {
    const { settings, log } = this.#deps;
    const { can } = connection;
    const listed = can.tools ? await listAll(connection, 'tools/list', signal) : [];
    const prompts = can.prompts ? await listAll(connection, 'prompts/list', signal) : [];
    this.#taken = takeTools(settings, listed, (tool, args, ctx) => this.#call(tool, args, ctx));
    this.#prompts = readPrompts(this.name, prompts);
    for (const notice of this.#taken.notices) log.warn({ notice }, 'mcp_tools_notice');
  }

  async #call(tool: string, args: Record<string, unknown>, ctx: ToolContext) {
    const params = { name: tool, arguments: args };
    const questions = this.#questions.count;
    const result = await this.ask('tools/call', params, callResult, ctx.signal, (progress) =>
      ctx.progress(progressText(progress)),
    );
    const read = await readResult(result, this.#deps.keepFile, ctx);
    if (this.#questions.count === questions) return read;
    return { ...read, content: `${read.content}\n${declinedText(this.#questions.last)}` };
  }

  /** One line without the server's secrets. */
  #clean(text: string): string {
    const secrets = [...this.#deps.settings.secrets, ...this.#deps.logins.secrets()];
    const leaveOut = (rest: string, secret: string): string =>
      secret === '' ? rest : rest.replaceAll(secret, '[secret]');
    const redacted = secrets.reduce(leaveOut, text);
    return oneLine(redacted).slice(0, MAX_ERROR_CHARS).toWellFormed();
  }

  #change(state: McpState): void {
    this.#state = state;
    this.#deps.onChanged();
  }
}

/** The prompts in a list that the server sent; those whose name cannot be typed are left out. Never throws. */
function readPrompts(server: string, listed: readonly unknown[]): McpPrompt[] {
  const prompts = listed.flatMap((item) => {
    const { success, data } = listedPrompt.safeParse(item);
    if (!success) return [];
    const description = oneLine(data.description).slice(0, MAX_DESCRIPTION_CHARS).toWellFormed();
    const parameters = data.arguments.map(({ name: argument, required }) => ({ name: argument, required }));
    return [{ server, name: data.name, description, arguments: parameters }];
  });
  return prompts.slice(0, MAX_PROMPTS);
}
