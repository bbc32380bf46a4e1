/**
 * One plug-in as the gateway uses it: its process, which starts with the first call, the calls in both directions, and what
 * happens when it hangs, ends or floods. Nothing of that reaches beyond the call that failed.
 */
import { once } from 'node:events';
import { z } from 'zod';
import { backoffMs } from '../lib/async/backoff.ts';
import { escapeControls, oneLine } from '../lib/text.ts';
import { errorCode, GatewayError, toGatewayError } from '../protocol/errors.ts';
import type { Log } from '../protocol/log.ts';
import type { PluginStatus } from '../protocol/operator/plugins.ts';
import { createPluginLog, type PluginLog } from './plugin-log.ts';
import { parseFrame, PluginError, type WireFailure } from './plugin-frames.ts';
import { type Frame, MAX_FRAME_BYTES, readLines } from './process/frames.ts';
import { type OpenProxy, type PluginPlace, type RunningPlugin, spawnPlugin } from './spawn-plugin.ts';

/** Calls to one plug-in at a time; more are refused. */
export const MAX_CALLS = 128;
/** Calls of it that the gateway works on; while there are more, nothing is read from it. */
export const MAX_ASKED = 32;
/** Answers that the plug-in does not read, in bytes, before it is ended. */
const MAX_UNREAD_BYTES = 64 * 1024 * 1024;

/** Waits, in milliseconds. */
export const PLUGIN_TIMING = {
  /** For its module to load. */
  openMs: 20_000,
  /** For one call, unless that has a limit of its own. */
  callMs: 30_000,
  /** For a sign of life after a call took too long. */
  pingMs: 3_000,
  /** After it was asked to end. */
  stopMs: 5_000,
  /** Before it is started again: at first, and at most. */
  restartMs: 1_000,
  mostRestartMs: 300_000,
  /** It counts as well again after so long. */
  stableMs: 60_000,
  monotonicNow: (): number => performance.now(),
};

export interface PluginParts extends PluginPlace {
  log: Log;
  /** Takes secrets out of what it says. */
  redact: (text: string) => string;
  /** Throws `GatewayError` if its files are not those that were installed. */
  verify: () => Promise<void>;
  openProxy: OpenProxy;
  /** Answers a call of the plug-in. Throws `GatewayError`. */
  serve: (method: string, args: readonly unknown[]) => Promise<unknown>;
  /** Told of its health. */
  onHealth?: (state: string, detail: string | undefined) => void;
  /** Called after every start of its process but the first call's own, such as to receive again. */
  onRestart?: () => void;
  timing?: Partial<typeof PLUGIN_TIMING>;
}

export interface CallOptions {
  limitMs?: number;
  signal?: AbortSignal;
  onChunk?: (value: unknown) => void;
  onProgress?: (text: string) => void;
}

interface Pending extends CallOptions {
  resolve: (value: unknown) => void;
  reject: (error: Error) => void;
}

/** Runs a plug-in. Its methods throw `PluginError` for what the plug-in says, else `GatewayError('plugin_down' | 'plugin_slow' | 'plugin_busy')`. */
export class PluginProcess {
  readonly #parts: PluginParts;
  readonly #timing: typeof PLUGIN_TIMING;
  readonly #log: PluginLog;
  readonly #pending = new Map<number, Pending>();
  #running: RunningPlugin | undefined;
  #starting: Promise<void> | undefined;
  #restart: NodeJS.Timeout | undefined;
  #state: PluginStatus['state'] = 'idle';
  #detail: string | undefined;
  #lastId = 0;
  #asked = 0;
  /** Ends in a row. */
  #ends = 0;
  #startedAt = 0;
  #nextStartAt = 0;
  /** Its newest printed line, which often says why it ended. */
  #lastLine = '';
  #methods: readonly string[] = [];
  /** True while something waits for messages of it: it is then started again by itself. */
  isNeeded = false;

  constructor(parts: PluginParts) {
    this.#parts = parts;
    this.#timing = { ...PLUGIN_TIMING, ...parts.timing };
    this.#log = createPluginLog(parts.log, this.#timing.monotonicNow);
  }

  /** What it is doing, and what is wrong. */
  state(): { state: PluginStatus['state']; detail: string | undefined } {
    return { state: this.#state, detail: this.#detail };
  }

  /** What it can be called for, once it runs. */
  get methods(): readonly string[] {
    return this.#methods;
  }

  /** The folder for files that pass to and from it, while it runs. */
  get files(): string | undefined {
    return this.#running?.files;
  }

  /** Calls a method; starts the process if necessary. */
  async call(method: string, args: readonly unknown[], options: CallOptions = {}): Promise<unknown> {
    options.signal?.throwIfAborted();
    await this.start();
    return await this.#send(method, args, options);
  }

  /** Starts the process unless it runs. Throws `GatewayError('plugin_down')`. */
  async start(): Promise<void> {
    if (this.#state === 'up') return;
    if (this.#state === 'closed' || this.#state === 'refused') throw this.#down();
    const waitMs = this.#nextStartAt - this.#timing.monotonicNow();
    if (this.#starting === undefined && waitMs > 0) throw this.#down(waitMs);
    this.#starting ??= this.#open().finally(() => (this.#starting = undefined));
    await this.#starting;
  }

  async #open(): Promise<void> {
    const { verify, openProxy, log } = this.#parts;
    this.#state = 'starting';
    clearTimeout(this.#restart);
    const isFirst = this.#startedAt === 0;
    try {
      await verify();
    } catch (error) {
      this.#state = 'refused';
      this.#detail = toGatewayError(error).message;
      log.error({ detail: this.#detail }, 'plugin_refused');
      throw this.#down();
    }
    this.#startedAt = this.#timing.monotonicNow();
    let running: RunningPlugin;
    try {
      running = await spawnPlugin(this.#parts, openProxy, {
        onRefused: (target) => log.warn({ target }, 'plugin_host_refused'),
        onFailed: (id, code) => this.#write({ type: 'note', method: 'connection_failed', args: [id, code] }),
      });
    } catch (error) {
      this.#ended(toGatewayError(error).message);
      throw this.#down();
    }
    this.#running = running;
    this.#follow(running);
    try {
      const names = await this.#send('open', [running.opening], { limitMs: this.#timing.openMs });
      this.#methods = z.array(z.string()).catch([]).parse(names);
    } catch (error) {
      const reason = toGatewayError(error).message;
      if (this.#running === running) this.#fail(`it could not be loaded: ${reason}`);
      throw this.#down();
    }
    this.#state = 'up';
    this.#detail = undefined;
    log.info({ version: this.#parts.manifest.version }, 'plugin_started');
    if (!isFirst) this.#parts.onRestart?.();
  }

  #follow(running: RunningPlugin): void {
    const { child, channel } = running;
    this.#lastLine = '';
    for (const output of [child.stdout, child.stderr])
      if (output !== null)
        this.#log.follow(
          output,
          (line) => (this.#lastLine = /^#?\s*(FATAL|Fatal).*/.test(line) ? line : this.#lastLine || line),
        );
    readLines(
      channel,
      MAX_FRAME_BYTES,
      (line) => this.#take(running, line),
      () => this.#fail(`it sent a line of more than ${MAX_FRAME_BYTES / 1024 / 1024} MiB`),
    );
    // Whatever it is, the end of the process follows.
    channel.on('error', () => undefined);
    child.once('error', (error) => this.#over(running, errorCode(error) || error.message));
    child.once('close', (code, signal) => {
      const ending = signal === null ? `with status ${code}` : `by ${signal}`;
      this.#over(
        running,
        `it ended ${ending}${this.#lastLine === '' ? '' : `: ${oneLine(this.#lastLine).slice(0, 200)}`}`,
      );
    });
  }

  /** The process is gone. */
  #over(running: RunningPlugin, reason: string): void {
    void running
      .clear()
      .catch((error: unknown) => this.#parts.log.warn({ err: error }, 'plugin_clear_failed'));
    if (this.#running !== running) return;
    this.#running = undefined;
    if (this.#state === 'closed') this.#rejectAll();
    else this.#ended(reason);
  }

  /** Ends a process that breaks the rules. */
  #fail(reason: string): void {
    const running = this.#running;
    this.#running = undefined;
    running?.kill();
    this.#ended(reason);
  }

  #ended(reason: string): void {
    const { stableMs, restartMs, mostRestartMs, monotonicNow } = this.#timing;
    const now = monotonicNow();
    this.#ends = now - this.#startedAt > stableMs ? 0 : this.#ends + 1;
    const pauseMs = backoffMs(this.#ends, restartMs, mostRestartMs);
    this.#nextStartAt = now + pauseMs;
    this.#state = 'waiting';
    this.#detail = this.#parts.redact(escapeControls(reason));
    this.#parts.log.error({ detail: this.#detail, pauseMs, ends: this.#ends }, 'plugin_ended');
    this.#rejectAll();
    if (!this.isNeeded) return;
    clearTimeout(this.#restart);
    this.#restart = setTimeout(() => {
      // What went wrong is in the state, and the next start is on its way.
      this.start().catch(() => undefined);
    }, pauseMs + 1);
  }

  #rejectAll(): void {
    const calls = [...this.#pending.values()];
    this.#pending.clear();
    this.#asked = 0;
    for (const { reject } of calls) reject(this.#down(undefined, 'plugin_ended'));
  }

  #down(retryAfterMs?: number, code = 'plugin_down'): GatewayError {
    const { label } = this.#parts.manifest;
    const problem = this.#detail === undefined ? 'is not running' : `is not running: ${this.#detail}`;
    const details = retryAfterMs === undefined ? {} : { retryAfterMs: Math.ceil(retryAfterMs) };
    return new GatewayError(code, `The plug-in ${label} ${problem}`, { retryable: true, ...details });
  }

  async #send(method: string, args: readonly unknown[], options: CallOptions): Promise<unknown> {
    const { label } = this.#parts.manifest;
    const running = this.#running;
    if (running === undefined) throw this.#down();
    if (this.#pending.size >= MAX_CALLS)
      throw new GatewayError('plugin_busy', `The plug-in ${label} has ${MAX_CALLS} calls to answer.`, {
        retryable: true,
      });
    const { limitMs = this.#timing.callMs, signal } = options;
    this.#lastId += 1;
    const id = this.#lastId;
    const late = AbortSignal.timeout(limitMs);
    const settled = new AbortController();
    try {
      return await new Promise((resolve, reject) => {
        this.#pending.set(id, { ...options, resolve, reject });
        const cancel = (error: Error): void => {
          this.#write({ type: 'cancel', id });
          reject(error);
        };
        const until = { once: true, signal: settled.signal };
        late.addEventListener(
          'abort',
          () => {
            cancel(
              new GatewayError('plugin_slow', `The plug-in ${label} did not answer in time (${method}).`, {
                retryable: true,
              }),
            );
            if (method !== 'ping' && method !== 'open') void this.#examine(running);
          },
          until,
        );
        signal?.addEventListener('abort', () => cancel(toGatewayError(signal.reason, 'aborted')), until);
        this.#write({ type: 'call', id, method, args: [...args] });
      });
    } finally {
      settled.abort();
      this.#pending.delete(id);
    }
  }

  /** A call took too long: a process that shows no sign of life is ended. */
  async #examine(running: RunningPlugin): Promise<void> {
    try {
      await this.#send('ping', [], { limitMs: this.#timing.pingMs });
    } catch {
      if (this.#running === running) this.#fail('it did not answer any more');
    }
  }

  #write(frame: Frame): void {
    const channel = this.#running?.channel;
    if (channel === undefined || !channel.writable) return;
    channel.write(`${JSON.stringify(frame)}\n`);
    if (channel.writableLength > MAX_UNREAD_BYTES) this.#fail('it does not read what it is sent');
  }

  #take(running: RunningPlugin, line: string): void {
    if (this.#running !== running) return;
    const frame = parseFrame(line);
    if (frame === undefined) return this.#fail('it sent something that is no frame of the contract');
    switch (frame.type) {
      case 'answer':
        return this.#pending.get(frame.id)?.resolve(frame.value);
      case 'error':
        return this.#pending.get(frame.id)?.reject(this.#errorOf(frame.error));
      case 'chunk':
        return this.#pending.get(frame.id)?.onChunk?.(frame.value);
      case 'note':
        return this.#note(running, frame.method, frame.args);
      case 'call':
        return void this.#serve(running, frame);
      default:
        return frame satisfies never;
    }
  }

  #errorOf(error: WireFailure): PluginError {
    const message = this.#parts.redact(escapeControls(error.message).slice(0, 1_000));
    return new PluginError(
      error,
      message === '' ? `The plug-in ${this.#parts.manifest.label} failed.` : message,
    );
  }

  #note(running: RunningPlugin, method: string, args: readonly unknown[]): void {
    const [first, second, third] = args;
    if (method === 'log') this.#log.write(String(first), String(second), third);
    else if (method === 'progress') this.#pending.get(Number(first))?.onProgress?.(String(second));
    else if (method === 'listen') running.listen(Number(first));
    else if (method === 'health')
      this.#parts.onHealth?.(
        String(first),
        typeof second === 'string' ? this.#parts.redact(escapeControls(second).slice(0, 500)) : undefined,
      );
  }

  async #serve(
    running: RunningPlugin,
    { id, method, args }: Extract<Frame, { type: 'call' }>,
  ): Promise<void> {
    const { channel } = running;
    this.#asked += 1;
    if (this.#asked >= MAX_ASKED) channel.pause();
    try {
      const value = await this.#parts.serve(method, args);
      if (this.#running === running) this.#write({ type: 'answer', id, value });
    } catch (thrown) {
      const { code, message, retryable } = toGatewayError(thrown);
      if (this.#running === running) this.#write({ type: 'error', id, error: { code, message, retryable } });
    } finally {
      this.#asked = Math.max(0, this.#asked - 1);
      if (this.#asked < MAX_ASKED) channel.resume();
    }
  }

  /** Ends the process, which has `stopMs` to do so by itself. Never throws. */
  async close(): Promise<'ended' | 'killed'> {
    clearTimeout(this.#restart);
    this.isNeeded = false;
    // A start that fails has already ended what it began.
    await this.#starting?.catch(() => undefined);
    this.#state = 'closed';
    const running = this.#running;
    if (running === undefined) return 'ended';
    const { child, channel } = running;
    let ending: 'ended' | 'killed' = 'ended';
    const timer = setTimeout(() => {
      ending = 'killed';
      running.kill();
    }, this.#timing.stopMs);
    const exit = child.exitCode === null && child.signalCode === null ? once(child, 'close') : undefined;
    channel.end();
    await exit;
    clearTimeout(timer);
    return ending;
  }
}
