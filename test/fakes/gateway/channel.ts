/** A fake channel with the strictness of real platforms: hidden limits, lost answers, and the messages a user sees. */
import type { Root } from 'mdast';
import type {
  Capabilities,
  Channel,
  OutboundFile,
  OutboundPart,
  Rendered,
} from '../../../src/protocol/channel.ts';
import { ChannelError, type ChannelErrorCode } from '../../../src/protocol/errors.ts';
import type { ChannelHealth } from '../../../src/protocol/gateway-api.ts';
import type { Place, SentMessage } from '../../../src/protocol/message.ts';
import { type DraftRules, type RateLimits, steadyRates } from '../../../src/protocol/delivery.ts';
import { nonceOf } from '../../../src/delivery/final/part-notes.ts';
import { renderHeavy } from '../../delivery/render.ts';
import type { FakeClock } from '../clock.ts';
import { type HiddenLimits, PlatformLimits } from './hidden-limits.ts';

export interface FakeChannelOptions {
  clock: FakeClock;
  name?: string;
  maxLength?: number;
  editIntervalMs?: number;
  /** Instead of `editIntervalMs`. */
  rates?: RateLimits;
  edit?: boolean;
  /** Its own messages can be deleted; default true. */
  delete?: boolean;
  typing?: boolean;
  /** It accepts files; the maximum size in bytes. */
  maxFileBytes?: number;
  limits?: HiddenLimits;
  /** Time until it answers. */
  latencyMs?: number;
  /** Answers a repeated nonce with the first message, as Discord does. */
  dedupes?: boolean;
  /** It shows drafts, which have their own limit in a chat. */
  drafts?: DraftRules;
}

interface Shown extends Pick<Place, 'chatId' | 'threadId'> {
  id: string;
  text: string;
  nonce: string;
  buttons: string[];
}

type CallKind = 'send' | 'edit' | 'delete' | 'typing' | 'draft';

/** The failure of a later call. `lost`: the call is applied, but its answer never arrives. */
type Failure = {
  /** Only a call of this kind; default any but `typing`. */
  kind?: CallKind;
  code: ChannelErrorCode;
  retryAfterMs?: number;
  movedTo?: string;
  global?: boolean;
  /** Default: what the code usually implies. */
  retryable?: boolean;
  lost?: boolean;
};

/** Codes of temporary failures, as the real channels mark them. */
const RETRYABLE: readonly ChannelErrorCode[] = ['rate_limited', 'unavailable', 'conflict', 'outcome_unknown'];

export class FakeChannel implements Channel {
  readonly name: string;
  readonly capabilities: Capabilities;
  readonly edit?: (sent: SentMessage, part: OutboundPart) => Promise<SentMessage>;
  readonly delete?: (sent: SentMessage, place: Place) => Promise<void>;
  readonly typing?: (place: Place) => Promise<void>;
  readonly draft?: NonNullable<Channel['draft']>;
  /** Set by a test: the network has a richer kind of message. */
  renderWhole?: NonNullable<Channel['renderWhole']>;
  readonly sendFile?: (file: OutboundFile) => Promise<SentMessage>;
  /** Every answered call, in order. */
  readonly calls: { kind: CallKind; chatId: string; at: number; part?: OutboundPart }[] = [];
  /** Every call fails with this while it is set. */
  outage: Failure | undefined;
  refused = 0;
  /** Calls made before the pause of an earlier refusal had passed. */
  early = 0;
  readonly #options: FakeChannelOptions;
  #messages: Shown[] = [];
  #ids = 0;
  #failures: Failure[] = [];
  readonly #inFlight = new Set<string>();
  readonly #limits: PlatformLimits | undefined;
  readonly #pausedUntil = new Map<string, number>();
  #gate: Promise<void> | undefined;

  constructor(options: FakeChannelOptions) {
    const {
      clock: _clock,
      name = 'fake',
      maxLength = 500,
      editIntervalMs = 1_000,
      edit = true,
      delete: deletes = true,
      typing = true,
      maxFileBytes = 0,
    } = options;
    this.#options = options;
    this.#limits = options.limits && new PlatformLimits(options.limits);
    this.name = name;
    this.capabilities = {
      edit,
      delete: deletes,
      draft: options.drafts,
      stream: 'edit',
      typing,
      reactions: [],
      buttons: true,
      media: maxFileBytes > 0,
      maxFileBytes,
      maxCaption: maxFileBytes > 0 ? 100 : 0,
      threads: true,
      maxLength,
      rates: options.rates ?? steadyRates({ callsPerSecond: 25, editIntervalMs }),
      typingMs: 5_000,
    };
    if (edit)
      this.edit = async (sent, part) => {
        const { message, told } = sent.metadata ?? {};
        await this.#edit(message === undefined ? sent : { id: message }, part);
        return message === undefined || told === message
          ? sent
          : { ...sent, metadata: { message, told: message } };
      };
    if (deletes) this.delete = (sent, { chatId }) => this.#delete(sent, chatId);
    if (maxFileBytes > 0) this.sendFile = (file) => this.#sendFile(file);
    if (options.drafts !== undefined)
      this.draft = async (place, turnId, body, plain) => {
        const look = { body, plain, buttons: [], nonce: nonceOf(turnId, 0) };
        await this.#call('draft', place.chatId, { ...place, ...look });
      };
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
    const { chatId, threadId, nonce } = part;
    if (id !== again?.id) this.#messages.push({ id, chatId, threadId, nonce, text: '', buttons: [] });
    this.#write(id, part);
    if (failure?.lost === true) throw new ChannelError('outcome_unknown', 'The answer was lost.');
    return { id };
  }

  async #sendFile(file: OutboundFile): Promise<SentMessage> {
    const failure = await this.#call('send', file.chatId);
    const { chatId, threadId, nonce, name, kind, caption, bytes } = file;
    if (bytes > this.capabilities.maxFileBytes) throw new ChannelError('rejected', 'the file is too large');
    const again = this.#messages.find((message) => message.nonce === nonce);
    if (this.#options.dedupes === true && again) return { id: again.id };
    const text = `[${kind} ${name}] ${caption?.text ?? ''}`.trimEnd();
    this.#messages.push({ id: `m${++this.#ids}`, chatId, threadId, nonce, text, buttons: [] });
    if (failure?.lost === true) throw new ChannelError('outcome_unknown', 'The answer was lost.');
    return { id: `m${this.#ids}` };
  }

  /** What the user sees in a chat, oldest first. */
  screen(chatId: string): string[] {
    return this.#messages.filter((message) => message.chatId === chatId).map((message) => message.text);
  }

  /** The buttons under each message of a chat. */
  buttons(chatId: string): string[][] {
    return this.#messages.filter((message) => message.chatId === chatId).map((message) => message.buttons);
  }

  /** Makes the next sends, edits and deletions fail with these, in order. */
  failure(...failures: Failure[]): void {
    this.#failures.push(...failures);
  }

  /** A reply that the platform already shows, but whose id it reveals only with the first edit. */
  deferred(chatId: string): SentMessage {
    const id = `m${++this.#ids}`;
    this.#messages.push({ id, chatId, threadId: undefined, nonce: '', text: 'thinking', buttons: [] });
    return { id: 'deferred', metadata: { message: id } };
  }

  /** The user deletes a message. */
  remove(index: number): void {
    this.#messages.splice(index, 1);
  }

  /** Answers no call until the returned function is called. */
  hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#gate = promise;
    return () => {
      this.#gate = undefined;
      resolve();
    };
  }

  count(kind: CallKind): number {
    return this.calls.filter((call) => call.kind === kind).length;
  }

  async #edit(sent: SentMessage, part: OutboundPart): Promise<void> {
    await this.#call('edit', part.chatId, part);
    if (!this.#messages.some((message) => message.id === sent.id))
      throw new ChannelError('message_gone', 'message to edit not found');
    this.#write(sent.id, part);
  }

  async #delete(sent: SentMessage, chatId: string): Promise<void> {
    await this.#call('delete', chatId);
    this.#messages = this.#messages.filter((message) => message.id !== sent.id || message.chatId !== chatId);
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

  /** Allows one call at a time in a chat, checks the limits, and applies the next failure. */
  async #call(kind: CallKind, chatId: string, part?: OutboundPart): Promise<Failure | undefined> {
    const key = `${kind === 'typing' || kind === 'draft' ? kind : 'text'}:${chatId}`;
    if (this.#inFlight.has(key)) throw new Error(`two calls at once in ${chatId}`);
    this.#inFlight.add(key);
    try {
      const at = this.#options.clock.monotonicMs();
      if (this.#options.latencyMs !== undefined) await this.#options.clock.sleep(this.#options.latencyMs);
      await this.#gate;
      this.#limit(kind, chatId, at);
      this.calls.push({ kind, chatId, at, ...(part === undefined ? {} : { part }) });
      if (this.outage !== undefined) throw this.#refusal(chatId, this.outage);
      const failure = this.#takeFailure(kind);
      if (failure === undefined || failure.lost === true) return failure;
      throw this.#refusal(chatId, failure);
    } finally {
      this.#inFlight.delete(key);
    }
  }

  #takeFailure(kind: CallKind): Failure | undefined {
    const index = this.#failures.findIndex((failure) => (failure.kind ?? kind) === kind);
    return kind === 'typing' || index < 0 ? undefined : this.#failures.splice(index, 1)[0];
  }

  #limit(kind: string, chatId: string, at: number): void {
    if (at < (this.#pausedUntil.get(chatId) ?? 0)) this.early++;
    const limited = kind === 'draft' ? `draft ${chatId}` : chatId;
    const refusal = this.#limits?.refusal(kind !== 'typing', limited, at);
    if (refusal !== undefined) throw this.#refusal(chatId, { code: 'rate_limited', ...refusal });
  }

  #refusal(chatId: string, failure: Failure): ChannelError {
    const { code, kind: _kind, ...details } = failure;
    if (code === 'rate_limited') {
      this.refused++;
      this.#pausedUntil.set(chatId, this.#options.clock.monotonicMs() + (failure.retryAfterMs ?? 0));
    }
    const retryable = RETRYABLE.includes(code);
    return new ChannelError(code, `the platform says ${code}`, { retryable, ...details });
  }
}
