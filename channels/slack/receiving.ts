/** Receiving from `start` to `stop`: the connection, the inbox, commands, and what was missed in between. */
import type { ChannelDeps } from '../../src/protocol/channel.ts';
import { isRetryable } from '../../src/protocol/errors.ts';
import type { ChannelHealth } from '../../src/protocol/gateway-api.ts';
import type { Log } from '../../src/protocol/log.ts';
import type { InboundMessage } from '../../src/protocol/message.ts';
import type { SingleReactions } from '../../src/protocol/channel-parts.ts';
import type { ConnectionStore, Receipt, Receive } from '../../src/protocol/receive.ts';
import { textRef } from '../../src/protocol/texts/say.ts';
import { BackgroundWork } from '../../src/lib/async/background.ts';
import { retryWhile } from '../../src/lib/async/retry.ts';
import { waitAtMost } from '../../src/lib/async/sleep.ts';
import type { SharedClock } from '../../src/lib/clock.ts';
import { Gaps } from './catch-up.ts';
import { type RawEvent, type RawMessage, readEvent } from './events.ts';
import { peopleIn, type Self, toEdit, toInbound, toMembership, toStop } from './inbound.ts';
import { Inbox } from './inbox.ts';
import { Interactions } from './interactions.ts';
import type { People } from './people.ts';
import type { Sending } from './sending.ts';
import { type Envelope, SocketLink } from './socket.ts';
import type { Status } from './status.ts';
import type { SlackApi, SlackTiming } from './web-api.ts';

/** Slack has no sessions to continue; the store's row needs a session name. */
const SESSION = { id: 'socket-mode', sequence: 0, detail: {} };
/** How long health reports what a catch-up left out, in milliseconds. */
const NOTICE_MS = 3_600_000;
/** Commands and presses that wait while the store is unavailable; of further ones, Slack tells the person that they failed. */
export const MAX_WAITING_ACTS = 1_000;
/** Longest wait for the store during `stop`, in milliseconds. */
const SAVE_MS = 2_000;

/** The time up to which everything was received, as the store keeps it. */
class Position {
  readonly #connections: ConnectionStore;
  readonly #log: Log;
  readonly #storedUntil: () => number;
  #key: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #savedUntil = 0;

  /** `storedUntil`: the time up to which everything is stored, in epoch milliseconds. */
  constructor(connections: ConnectionStore, log: Log, storedUntil: () => number) {
    this.#connections = connections;
    this.#log = log;
    this.#storedUntil = storedUntil;
  }

  /** The time that the store keeps; from now on it is written there. Sets the shared clock first. Throws `StoreError`. */
  async load(key: string, clock: SharedClock, saveEveryMs: number): Promise<number | undefined> {
    await clock.set(() => this.#connections.epochNow());
    const record = await this.#connections.connection(key);
    this.#key = key;
    this.#timer ??= setInterval(() => void this.save(), saveEveryMs).unref();
    return record?.heardAt;
  }

  /** Never throws. */
  async save(): Promise<void> {
    const until = this.#storedUntil();
    if (this.#key === undefined || until <= this.#savedUntil) return;
    try {
      await this.#connections.saveSession(this.#key, SESSION, until);
      this.#savedUntil = until;
    } catch (error) {
      this.#log.warn({ err: error }, 'slack_position_not_saved');
    }
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

export interface ReceivingParts extends ChannelDeps {
  receive: Receive;
  api: SlackApi;
  /** With the app token. */
  appApi: SlackApi;
  apiRoot: string | undefined;
  sending: Sending;
  people: People;
  status: Status;
  reactions: SingleReactions;
  self: Self;
  clock: SharedClock;
  timing: SlackTiming;
}

export class Receiving {
  readonly #parts: ReceivingParts;
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

  constructor(parts: ReceivingParts) {
    const { log, receive, reactions, api, appApi, apiRoot, sending, connections, timing } = parts;
    const { signal } = this.#stop;
    this.#parts = parts;
    this.#background = new BackgroundWork((error, failure) => {
      if (!signal.aborted) log.warn({ err: error }, failure);
    });
    const publish = async (message: InboundMessage): Promise<Receipt> => {
      const { chatId, messageId, isEdit } = message;
      // Before the commit: the reaction of a turn that starts at once must find it.
      if (messageId !== undefined && isEdit !== true) reactions.arrived({ chatId, messageId });
      return await receive(message);
    };
    this.#inbox = new Inbox(publish, log, timing.epochNow, signal);
    this.#interactions = new Interactions(receive, api, sending, parts, timing);
    this.#gaps = new Gaps(api, parts, timing, signal, (message) => this.#commitMissed(message));
    const storedUntil = (): number => Math.min(this.#inbox.storedUntil, this.#missingSince ?? Infinity);
    this.#position = new Position(connections, log, storedUntil);
    this.#link = new SocketLink(appApi, apiRoot, log, timing, {
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
    if (chats === 0 || this.#parts.timing.epochNow() - at > NOTICE_MS || health.state !== 'up') return health;
    const detail = textRef('health.missed', { count: chats, event: 'slack_catch_up' });
    return { state: 'degraded', detail };
  }

  /** Throws `StoreError` if the position up to which everything was received cannot be read. */
  async start(): Promise<void> {
    const { self, clock, timing } = this.#parts;
    const key = `slack:${self.teamId}:${self.userId}`;
    // An app without a position has no gap: one that is new in a workspace answers from now on.
    this.#missingSince = await this.#position.load(key, clock, timing.saveEveryMs);
    await this.#link.start();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#link.stop();
    await this.#inbox.close(this.#background.running);
    await waitAtMost(SAVE_MS, this.#position.save());
    this.#position.close();
  }

  #takeEnvelope(envelope: Envelope): void {
    if (envelope.type !== 'events_api' && this.#background.size >= MAX_WAITING_ACTS) {
      this.#parts.log.warn({ type: envelope.type, waiting: this.#background.size }, 'slack_act_refused');
      return;
    }
    if (envelope.type === 'slash_commands')
      this.#background.run('slack_command_failed', this.#interactions.onCommand(envelope));
    else if (envelope.type === 'interactive')
      this.#background.run('slack_press_failed', this.#interactions.onPress(envelope));
    else this.#takeEvent(readEvent(envelope.payload), envelope.ack);
    const gap = this.#inbox.takeGap();
    if (gap === undefined) return;
    this.#missingSince ??= gap;
    this.#readMissed();
  }

  #takeEvent(event: RawEvent | undefined, acknowledge: () => void): void {
    const { gateway, self } = this.#parts;
    switch (event?.kind) {
      case 'message':
      case 'edit':
        this.#inbox.push(
          event.message.channel,
          () => this.#read(event.message, event.kind === 'edit'),
          acknowledge,
        );
        return;
      case 'reaction': {
        const { reaction } = event;
        this.#inbox.push(`${reaction.item.channel} reactions`, async () => toStop(reaction), acknowledge);
        return;
      }
      case 'membership': {
        const change = toMembership(event.membership, self);
        if (change === undefined) acknowledge();
        else this.#note(change.chatId, () => gateway.membershipChanged(change), acknowledge);
        return;
      }
      // After the message itself, which comes before it in the same queue.
      case 'deletion': {
        const { channel: chatId, ts } = event.deletion;
        const deleted = { channel: 'slack', chatId, messageIds: [ts] };
        this.#note(chatId, () => gateway.messagesDeleted(deleted), acknowledge);
        return;
      }
      default:
        acknowledge();
    }
  }

  /** Queues something that is not a message, behind the messages of its chat. */
  #note(chatId: string, work: () => Promise<void>, acknowledge: () => void): void {
    const read = async (): Promise<undefined> => {
      await retryWhile(isRetryable, work, this.#stop.signal);
      return undefined;
    };
    this.#inbox.push(chatId, read, acknowledge);
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
    const isCalled = inbound.place === 'group' && inbound.mentioned;
    const chatName = isCalled ? await people.channelName(inbound.chatId) : undefined;
    const language = people.languageOf(inbound.senderId);
    const withLanguage = { ...inbound, language, ...(chatName !== undefined && { chatName }) };
    status.noteWriter(withLanguage);
    return withLanguage;
  }

  #readMissed(): void {
    const since = this.#missingSince;
    if (since !== undefined) this.#background.run('slack_catch_up_failed', this.#catchUp(since));
  }

  async #catchUp(since: number): Promise<void> {
    const leftOut = await this.#gaps.close(since);
    if (leftOut > 0) this.#leftOut = { chats: leftOut, at: this.#parts.timing.epochNow() };
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
