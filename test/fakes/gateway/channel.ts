/** A platform as strict as the real ones, behind the word `Channel`: limits, lost answers, and what a user's screen shows. */
import type { Root } from 'mdast';
import type { Capabilities, Channel, OutboundPart, Rendered } from '../../../src/contracts/channel.ts';
import { ChannelError } from '../../../src/contracts/errors.ts';
import type { ChannelErrorCode } from '../../../src/contracts/errors.ts';
import type { ChannelHealth } from '../../../src/contracts/gateway-api.ts';
import type { Place, SentMessage } from '../../../src/contracts/message.ts';
import { renderHeavy } from '../../delivery/render.ts';
import type { FakeClock } from '../clock.ts';

/** Limits the bot is not told of. */
export interface HiddenLimits {
  /** Least time between two calls in a chat. */
  chatIntervalMs(chatId: string): number;
  /** Calls of the whole bot in any second. */
  callsPerSecond(): number;
}

export interface FakeChannelOptions {
  clock: FakeClock;
  name?: string;
  maxLength?: number;
  editIntervalMs?: number;
  edit?: boolean;
  typing?: boolean;
  limits?: HiddenLimits;
  /** How long the platform takes to answer. */
  latencyMs?: number;
  /** Gives back the first message for a repeated nonce, as Discord does. */
  dedupes?: boolean;
}

interface Shown {
  id: string;
  chatId: string;
  threadId: string | undefined;
  text: string;
  nonce: string;
  buttons: string[];
}

/** What the next call shall run into. `lost`: the call is done, its answer never arrives. */
type Failure = {
  code: ChannelErrorCode;
  retryAfterMs?: number;
  movedTo?: string;
  global?: boolean;
  lost?: boolean;
};

export class FakeChannel implements Channel {
  readonly name: string;
  readonly capabilities: Capabilities;
  readonly edit?: (sent: SentMessage, part: OutboundPart) => Promise<void>;
  readonly typing?: (place: Place) => Promise<void>;
  /** Every call answered, in order. */
  readonly calls: { kind: 'send' | 'edit' | 'typing'; chatId: string; at: number; part?: OutboundPart }[] =
    [];
  refused = 0;
  /** Calls made before the pause of an earlier refusal was over. */
  early = 0;
  readonly #options: FakeChannelOptions;
  #messages: Shown[] = [];
  #ids = 0;
  #failures: Failure[] = [];
  readonly #inFlight = new Set<string>();
  readonly #chatCalls = new Map<string, number>();
  readonly #pausedUntil = new Map<string, number>();
  #recent: number[] = [];
  #gate: Promise<void> | undefined;

  constructor(options: FakeChannelOptions) {
    const {
      clock: _clock,
      name = 'fake',
      maxLength = 500,
      editIntervalMs = 1_000,
      edit = true,
      typing = true,
    } = options;
    this.#options = options;
    this.name = name;
    this.capabilities = {
      edit,
      draft: false,
      typing,
      reactions: false,
      buttons: true,
      media: false,
      threads: true,
      maxLength,
      editIntervalMs: () => editIntervalMs,
      typingMs: 5_000,
    };
    if (edit) this.edit = (sent, part) => this.#edit(sent, part);
    if (typing) this.typing = async ({ chatId }) => void (await this.#call('typing', chatId));
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }

  health(): ChannelHealth {
    return { state: 'up' };
  }

  render(doc: Root): Rendered {
    return renderHeavy(doc);
  }

  async send(part: OutboundPart): Promise<SentMessage> {
    const failure = await this.#call('send', part.chatId, part);
    const again = this.#messages.find((message) => message.nonce === part.nonce);
    const id = this.#options.dedupes === true && again !== undefined ? again.id : `m${++this.#ids}`;
    if (id !== again?.id) {
      const { chatId, threadId, nonce } = part;
      this.#messages.push({ id, chatId, threadId, nonce, text: '', buttons: [] });
      this.#write(id, part);
    }
    if (failure?.lost === true) throw new ChannelError('outcome_unknown', 'The answer was lost.');
    return { id };
  }

  /** What the user sees in a chat, oldest first. */
  screen(chatId: string): string[] {
    return this.#messages.filter((message) => message.chatId === chatId).map((message) => message.text);
  }

  /** The buttons under each message of a chat. */
  buttons(chatId: string): string[][] {
    return this.#messages.filter((message) => message.chatId === chatId).map((message) => message.buttons);
  }

  /** The next sends and edits run into these, in order. */
  failure(...failures: Failure[]): void {
    this.#failures.push(...failures);
  }

  /** The user deletes a message. */
  remove(index: number): void {
    this.#messages.splice(index, 1);
  }

  /** Answers nothing until the given function is called. */
  hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#gate = promise;
    return () => {
      this.#gate = undefined;
      resolve();
    };
  }

  count(kind: 'send' | 'edit' | 'typing'): number {
    return this.calls.filter((call) => call.kind === kind).length;
  }

  async #edit(sent: SentMessage, part: OutboundPart): Promise<void> {
    await this.#call('edit', part.chatId, part);
    if (!this.#messages.some((message) => message.id === sent.id))
      throw new ChannelError('message_gone', 'message to edit not found');
    this.#write(sent.id, part);
  }

  #write(id: string, part: OutboundPart): void {
    const text = part.plain === true ? part.body.plain : part.body.text;
    if (part.body.length > this.capabilities.maxLength)
      throw new ChannelError('rejected', 'message is too long');
    if (text.trim() === '') throw new ChannelError('rejected', 'message text is empty');
    const message = this.#messages.find((candidate) => candidate.id === id);
    if (message === undefined) return;
    message.text = text;
    message.buttons = part.buttons.map((button) => button.label);
  }

  /** One call at a time in a chat, never too fast, each with the failure that is due. */
  async #call(
    kind: 'send' | 'edit' | 'typing',
    chatId: string,
    part?: OutboundPart,
  ): Promise<Failure | undefined> {
    const key = `${kind === 'typing' ? 'typing' : 'text'}:${chatId}`;
    if (this.#inFlight.has(key)) throw new Error(`two calls at once in ${chatId}`);
    this.#inFlight.add(key);
    try {
      const at = this.#options.clock.monotonicMs();
      if (this.#options.latencyMs !== undefined) await this.#options.clock.sleep(this.#options.latencyMs);
      await this.#gate;
      this.#limit(kind, chatId, at);
      this.calls.push({ kind, chatId, at, ...(part === undefined ? {} : { part }) });
      const failure = kind === 'typing' ? undefined : this.#failures.shift();
      if (failure === undefined || failure.lost === true) return failure;
      throw this.#refusal(chatId, failure);
    } finally {
      this.#inFlight.delete(key);
    }
  }

  #limit(kind: string, chatId: string, at: number): void {
    if (at < (this.#pausedUntil.get(chatId) ?? 0)) this.early++;
    const { limits } = this.#options;
    if (limits === undefined) return;
    this.#recent = this.#recent.filter((time) => at - time < 1_000);
    const gap = at - (this.#chatCalls.get(chatId) ?? Number.NEGATIVE_INFINITY);
    const waitMs = limits.chatIntervalMs(chatId) - gap;
    if (kind !== 'typing' && waitMs > 0)
      throw this.#refusal(chatId, { code: 'rate_limited', retryAfterMs: waitMs });
    if (this.#recent.length >= limits.callsPerSecond())
      throw this.#refusal(chatId, { code: 'rate_limited', retryAfterMs: 1_000 });
    this.#recent.push(at);
    if (kind !== 'typing') this.#chatCalls.set(chatId, at);
  }

  #refusal(chatId: string, failure: Failure): ChannelError {
    const { code, ...details } = failure;
    if (code === 'rate_limited') {
      this.refused++;
      this.#pausedUntil.set(chatId, this.#options.clock.monotonicMs() + (failure.retryAfterMs ?? 0));
    }
    return new ChannelError(code, `the platform says ${code}`, details);
  }
}
