/**
 * Receiving from `start` to `stop`: the connection, the inbox, commands, and what was missed while there was no
 * connection.
 */
import { textRef } from '../../../src/protocol/texts/say.ts';
import type { ChannelDeps } from '../../../src/protocol/channel.ts';
import type { ChannelHealth, GatewayApi } from '../../../src/protocol/gateway-api.ts';
import type { InboundMessage } from '../../../src/protocol/message.ts';
import type { ConnectionStore, Receipt, Receive } from '../../../src/protocol/receive.ts';
import type { SharedClock } from '../../../src/lib/shared-clock.ts';
import { BackgroundWork } from '../../../src/lib/async/background.ts';
import { pause } from '../../../src/lib/async/sleep.ts';
import { type RawEvent, type RawMessage, readEvent } from '../events.ts';
import { peopleIn, type Self, toEdit, toInbound, toMembership, toStop } from '../inbound.ts';
import type { Sending } from '../sending.ts';
import type { SlackApi } from '../web-api.ts';
import { Gaps } from './gaps.ts';
import { Inbox } from './inbox.ts';
import { Interactions } from './interactions.ts';
import { type LinkParts, SocketLink } from './link.ts';
import type { SingleReactions } from '../../../src/protocol/channel-parts.ts';
import type { Status } from '../status.ts';
import type { People } from './people.ts';
import type { Log } from '../../../src/protocol/log.ts';
import { isRetryable } from '../../../src/protocol/errors.ts';
import { retryWhile } from '../../../src/lib/async/retry.ts';
import type { Envelope } from './socket.ts';

/** Slack has no sessions to continue; the store's row needs a session name. */
const SESSION = { id: 'socket-mode', sequence: 0, detail: {} };

interface PositionParts {
  connections: Pick<ConnectionStore, 'connection' | 'epochNow' | 'saveSession'>;
  /** Set to the clock that all nodes share, before the time that one of them has written is read. */
  clock: SharedClock;
  log: Log;
  saveEveryMs: number;
  /** The time up to which everything is stored, in epoch milliseconds; undefined while unknown. */
  storedUntil: () => number | undefined;
}

class Position {
  readonly #parts: PositionParts;
  #key: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #saved = 0;

  constructor(parts: PositionParts) {
    this.#parts = parts;
  }

  /** The time that the store keeps; from now on it is written there. Throws `StoreError`. */
  async load(key: string): Promise<number | undefined> {
    const { clock, connections } = this.#parts;
    await clock.set(() => connections.epochNow());
    const record = await connections.connection(key);
    this.#key = key;
    this.#timer ??= setInterval(() => void this.save(), this.#parts.saveEveryMs).unref();
    return record?.heardAt;
  }

  /** Never throws. */
  async save(): Promise<void> {
    const until = this.#parts.storedUntil();
    if (this.#key === undefined || until === undefined || until <= this.#saved) return;
    try {
      await this.#parts.connections.saveSession(this.#key, SESSION, until);
      this.#saved = until;
    } catch (error) {
      this.#parts.log.warn({ err: error }, 'slack_position_not_saved');
    }
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/** How long health reports what a catch-up left out, in milliseconds. */
const NOTICE_MS = 3_600_000;
/** Longest wait for the store during `stop`, in milliseconds. */
const SAVE_MS = 2_000;

/**
 * The channel's dependencies: a log, the commands it offers, who is allowed, and the position up to which everything
 * was received.
 */
export interface SlackDeps extends Pick<ChannelDeps, 'log' | 'connections' | 'languages'> {
  gateway: Pick<GatewayApi, 'commands' | 'groups' | 'membershipChanged' | 'messagesDeleted'>;
}

export interface ReceivingParts extends SlackDeps {
  receive: Receive;
  api: Pick<SlackApi, 'call'>;
  sending: Sending;
  people: People;
  status: Pick<Status, 'heard'>;
  reactions: Pick<SingleReactions, 'arrived'>;
  self: Self;
}

export interface ReceivingSettings extends LinkParts {
  epochNow: () => number;
  clock: SharedClock;
  saveEveryMs: number;
  historySpacingMs: number;
  deferAfterMs: number;
}

export class Receiving {
  readonly #parts: ReceivingParts;
  readonly #settings: ReceivingSettings;
  readonly #stop = new AbortController();
  readonly #inbox: Inbox;
  readonly #link: SocketLink;
  readonly #position: Position;
  readonly #interactions: Interactions;
  readonly #gaps: Gaps;
  /** Work other than messages: commands, catching up, short replies. Awaited at `stop`. */
  readonly #background: BackgroundWork;
  /** Start of a possible gap; undefined if there is none. */
  #missingSince: number | undefined;
  #leftOut = { chats: 0, at: 0 };

  constructor(settings: ReceivingSettings, parts: ReceivingParts) {
    const { log, connections, gateway, sending } = parts;
    const { clock, epochNow, saveEveryMs } = settings;
    this.#settings = settings;
    this.#parts = parts;
    this.#background = new BackgroundWork((error, failure) => {
      if (!this.#stop.signal.aborted) log.warn({ err: error }, failure);
    });
    const publish = async (message: InboundMessage): Promise<Receipt> => {
      const { chatId, messageId, isEdit } = message;
      // Before the commit: the reaction of a turn that starts at once must find it.
      if (messageId !== undefined && isEdit !== true) parts.reactions.arrived({ chatId, messageId });
      return await parts.receive(message);
    };
    this.#inbox = new Inbox({ log, epochNow, signal: this.#stop.signal, publish });
    this.#interactions = new Interactions({
      ...settings,
      api: parts.api,
      sending,
      log,
      languages: parts.languages,
      commands: gateway.commands,
    });
    this.#gaps = new Gaps({
      ...parts,
      ...settings,
      api: parts.api,
      spacingMs: settings.historySpacingMs,
      signal: this.#stop.signal,
      commit: async (message) => await this.#commitMissed(message),
    });
    const storedUntil = (): number => Math.min(this.#inbox.storedUntil, this.#missingSince ?? Infinity);
    this.#position = new Position({ connections, clock, log, saveEveryMs, storedUntil });
    this.#link = new SocketLink(settings, {
      envelope: (envelope) => this.#takeEnvelope(envelope),
      connected: (wasOpen) => {
        if (!wasOpen && this.#missingSince !== undefined) this.#readMissed();
        // From here on, no message is lost with this process.
        else this.#background.run('slack_position_not_saved', this.#position.save());
      },
      lost: () => {
        this.#missingSince ??= this.#inbox.storedUntil;
      },
    });
  }

  get health(): ChannelHealth {
    const { health } = this.#link;
    const { chats, at } = this.#leftOut;
    if (chats === 0 || this.#settings.epochNow() - at > NOTICE_MS || health.state !== 'up') return health;
    const detail = textRef('health.missed', { count: chats, event: 'slack_catch_up' });
    return { state: 'degraded', detail };
  }

  /** Throws `StoreError` if the position up to which everything was received cannot be read. */
  async start(): Promise<void> {
    const { teamId, userId } = this.#parts.self;
    // An app without a position has no gap: one that is new in a workspace answers from now on.
    this.#missingSince = await this.#position.load(`slack:${teamId}:${userId}`);
    await this.#link.start();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#link.stop();
    await this.#inbox.close(this.#background.running);
    const limit = new AbortController();
    await Promise.race([this.#position.save(), pause(SAVE_MS, limit.signal)]);
    limit.abort();
    this.#position.close();
  }

  #takeEnvelope(envelope: Envelope): void {
    const { receive } = this.#parts;
    if (envelope.type === 'slash_commands')
      this.#background.run('slack_command_failed', this.#interactions.onCommand(envelope, receive));
    else if (envelope.type === 'interactive')
      this.#background.run('slack_press_failed', this.#interactions.onPress(envelope, receive));
    else this.#takeEvent(readEvent(envelope.payload), envelope.ack);
    const gap = this.#inbox.takeGap();
    if (gap === undefined) return;
    this.#missingSince ??= gap;
    this.#readMissed();
  }

  #takeEvent(event: RawEvent | undefined, stored: () => void): void {
    const { gateway, self } = this.#parts;
    switch (event?.kind) {
      case 'message':
      case 'edit':
        this.#inbox.push({
          chatId: event.message.channel,
          read: () => this.#read(event.message, event.kind === 'edit'),
          stored,
        });
        return;
      case 'reaction': {
        const read = (): Promise<InboundMessage | undefined> => Promise.resolve(toStop(event.reaction));
        this.#inbox.push({ chatId: `${event.reaction.item.channel} reactions`, read, stored });
        return;
      }
      case 'membership': {
        const change = toMembership(event.membership, self);
        if (change === undefined) stored();
        else this.#note(change.chatId, () => gateway.membershipChanged(change), stored);
        return;
      }
      // After the message itself, which comes before it in the same queue.
      case 'deletion': {
        const { channel: chatId, ts } = event.deletion;
        const deleted = { channel: 'slack', chatId, messageIds: [ts] };
        this.#note(chatId, () => gateway.messagesDeleted(deleted), stored);
        return;
      }
      default:
        stored();
    }
  }

  /** Queues something that is not a message, behind the messages of its chat. */
  #note(chatId: string, work: () => Promise<void>, stored: () => void): void {
    const read = async (): Promise<undefined> => {
      await retryWhile(isRetryable, work, this.#stop.signal);
      return undefined;
    };
    this.#inbox.push({ chatId, read, stored });
  }

  async #read(message: RawMessage, isEdit: boolean): Promise<InboundMessage | undefined> {
    await this.#gaps.before(message.channel);
    return await this.#convert(message, isEdit);
  }

  async #convert(message: RawMessage, isEdit: boolean): Promise<InboundMessage | undefined> {
    const { self, people, status } = this.#parts;
    // Names cost calls: they are requested only for what a person has written.
    if (toInbound(message, self, new Map()) === undefined) return undefined;
    const names = await people.names(peopleIn(message));
    const inbound = isEdit ? toEdit(message, self, names) : toInbound(message, self, names);
    if (inbound === undefined) return undefined;
    const language = people.languageOf(inbound.senderId);
    const heard = language === undefined ? inbound : { ...inbound, language };
    status.heard(heard);
    return heard;
  }

  #readMissed(): void {
    const since = this.#missingSince;
    if (since !== undefined) this.#background.run('slack_catch_up_failed', this.#catchUp(since));
  }

  async #catchUp(since: number): Promise<void> {
    const leftOut = await this.#gaps.close(since);
    if (leftOut > 0) this.#leftOut = { chats: leftOut, at: this.#settings.epochNow() };
    // A connection that broke in the meantime has a gap of its own.
    if (this.#link.health.state === 'up') this.#missingSince = undefined;
    await this.#position.save();
  }

  /** Commits a message from the history; commands are left out, because they may have been carried out before. */
  async #commitMissed(message: RawMessage): Promise<void> {
    const inbound = await this.#convert(message, false);
    if (inbound !== undefined && !inbound.content.startsWith('/')) await this.#inbox.commit(inbound);
  }
}
