/** Receiving from `start` to `stop`: one sync after another, each finished once everything in it is committed. */
import { type GatewayError, isRetryable, toGatewayError } from '../../src/protocol/errors.ts';
import type { ChannelHealth } from '../../src/protocol/gateway-api.ts';
import type { EarlierMessage } from '../../src/protocol/channel.ts';
import type { InboundMessage } from '../../src/protocol/message.ts';
import { textRef } from '../../src/protocol/texts/say.ts';
import { BackgroundWork } from '../../src/lib/async/background.ts';
import { backoffMs } from '../../src/lib/async/backoff.ts';
import { retryWhile } from '../../src/lib/async/retry.ts';
import { forEachConcurrently } from '../../src/lib/async/run-concurrently.ts';
import { pause, waitAtMost } from '../../src/lib/async/sleep.ts';
import { CLIENT, errcodeOf, isAnswerTooLong, pathOf } from './client.ts';
import { contentOfText } from './content.ts';
import {
  isTombstone,
  type RawEvent,
  type RawTimeline,
  readEvents,
  readMember,
  readRedaction,
  ROOM_ID,
  ROOM_NAME,
  type SyncAnswer,
} from './events.ts';
import { answerInvitation, followRoom } from './joining.ts';
import { Reader } from './reader.ts';
import { Rooms } from './rooms.ts';
import { eventsOf, type ReceivingParts, sync } from './sync.ts';
import { Unread } from './unread.ts';

/** Rooms of one sync whose events are committed in parallel; within a room they follow one another. */
export const ROOMS_AT_ONCE = 16;
const BACKOFF_CAP_MS = 30_000;
/** Failed syncs are one warning in this time, in milliseconds; those in between are debug lines. */
export const WARNED_EVERY_MS = 60_000;
/** Failed syncs in a row before a refused position is dropped: a single refusal may be the homeserver's mistake. */
export const MAX_REFUSALS = 5;
/** How long `stop` waits at most for commits in progress, in milliseconds. */
const CLOSE_MS = 5_000;

export class Receiving {
  readonly #parts: ReceivingParts;
  readonly #key: string;
  readonly #stop = new AbortController();
  readonly #rooms: Rooms;
  readonly #reader: Reader;
  readonly #unread: Unread;
  /** Short replies. Awaited at `stop`. */
  readonly #background: BackgroundWork;
  #since: string | undefined;
  #isUp = false;
  #failures = 0;
  #warnedAt = -Infinity;
  /** The last answer was too long to read. */
  #isShort = false;
  #done: Promise<void> = Promise.resolve();

  constructor(parts: ReceivingParts) {
    this.#parts = parts;
    this.#key = `matrix:${parts.self}`;
    this.#rooms = new Rooms(parts.client, parts.replacements, parts.timing.epochNow);
    this.#reader = new Reader(parts, this.#rooms);
    this.#unread = new Unread(parts, this.#stop.signal);
    parts.encryption.onKeys = (roomIds) => {
      for (const roomId of roomIds) this.#background.run('matrix_unread_failed', this.#takeUnread(roomId));
    };
    this.#background = new BackgroundWork((error, failure) => {
      if (!this.#stop.signal.aborted) parts.log.warn({ err: error }, failure);
    });
  }

  get health(): ChannelHealth {
    if (this.#isUp) return { state: 'up' };
    return this.#failures === 0
      ? { state: 'starting' }
      : { state: 'degraded', detail: textRef('health.server_sync', { network: 'Matrix' }) };
  }

  /** Resolves once the position is known after which everything is new. Throws `StoreError` if it cannot be read. */
  async start(): Promise<void> {
    this.#since = (await this.#parts.connections.connection(this.#key))?.session?.id;
    await this.#parts.encryption.resume();
    if (this.#since === undefined) await this.#syncOnce();
    this.#done = this.#run();
  }

  /** See `Channel.before`. */
  async readThread(...range: Parameters<Reader['readThread']>): Promise<EarlierMessage[]> {
    return await this.#reader.readThread(...range);
  }

  /** Never throws. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await waitAtMost(CLOSE_MS, Promise.all([this.#done, ...this.#background.running]));
    this.#isUp = false;
    this.#parts.encryption.follows = false;
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) await this.#syncOnce();
  }

  /** Never throws. */
  async #syncOnce(): Promise<void> {
    const { signal } = this.#stop;
    const { client, encryption, timing } = this.#parts;
    try {
      // The first sync, and the first after a failure, is answered at once: health must not wait for a message.
      const length = { waitMs: this.#isUp ? timing.longPollMs : 0, isShort: this.#isShort };
      const answer = await sync(client, this.#since, length, signal);
      this.#isUp = true;
      // Before the position is stored: the homeserver forgets keys that were sent to the bot once they are fetched.
      await encryption.takeSync(answer, this.#since === undefined);
      if (this.#since !== undefined) await this.#takeAnswer(answer, this.#since);
      else await this.#takeInvites(answer, answer.next_batch);
      await encryption.ensureDevice();
      encryption.follows = true;
      await this.#savePosition(answer.next_batch);
      this.#failures = 0;
      this.#isShort = false;
    } catch (error) {
      if (signal.aborted) return;
      const failure = toGatewayError(error);
      this.#isUp = false;
      encryption.follows = false;
      this.#report(failure);
      this.#isShort ||= isAnswerTooLong(failure);
      if (this.#failures + 1 >= MAX_REFUSALS && isPositionRefused(failure)) this.#forgetPosition();
      const shortMs = backoffMs(this.#failures, timing.retryBaseMs, BACKOFF_CAP_MS);
      this.#failures += 1;
      await pause(failure.retryAfterMs ?? shortMs, signal);
    }
  }

  #report(err: GatewayError): void {
    const { log, timing } = this.#parts;
    const now = timing.monotonicMs();
    const isDue = now - this.#warnedAt >= WARNED_EVERY_MS;
    if (isDue) this.#warnedAt = now;
    log[isDue ? 'warn' : 'debug']({ err, failures: this.#failures }, 'matrix_receiving_failed');
  }

  /** Only now can nothing of the sync be lost: the next one starts after it. Throws `StoreError`. */
  async #savePosition(since: string): Promise<void> {
    if (since === this.#since) return;
    const { connections, timing } = this.#parts;
    const session = { id: since, sequence: 0, detail: {} };
    await connections.saveSession(this.#key, session, timing.epochNow());
    this.#since = since;
  }

  /** The homeserver no longer knows the position, for example after it was reinstalled. */
  #forgetPosition(): void {
    if (this.#since === undefined) return;
    this.#parts.log.error({}, 'matrix_position_refused');
    this.#since = undefined;
  }

  async #takeAnswer(answer: SyncAnswer, since: string): Promise<void> {
    await this.#takeInvites(answer, since);
    const rooms = Object.entries(answer.rooms?.join ?? {}).filter(([roomId]) => ROOM_ID.test(roomId));
    await forEachConcurrently(
      rooms,
      ROOMS_AT_ONCE,
      async ([roomId, { state, timeline = { events: [] } }]) => {
        await this.#takeRoom(roomId, readEvents(state?.events), timeline, since);
      },
    );
    await this.#noteDepartures(answer);
  }

  async #takeInvites({ rooms }: SyncAnswer, since: string): Promise<void> {
    for (const [roomId, { invite_state: state }] of Object.entries(rooms?.invite ?? {})) {
      if (!ROOM_ID.test(roomId)) continue;
      await answerInvitation(this.#parts, roomId, state?.events ?? [], since, this.#parts.timing.epochNow());
    }
  }

  /** Rooms that the bot has left; a declined invitation is not one of them. */
  async #noteDepartures({ rooms }: SyncAnswer): Promise<void> {
    const { gateway, self } = this.#parts;
    for (const [chatId, { timeline }] of Object.entries(rooms?.leave ?? {})) {
      const event = readEvents(timeline?.events).findLast((one) => readMember(one)?.userId === self);
      if (!ROOM_ID.test(chatId) || event?.unsigned?.prev_content?.membership !== 'join') continue;
      await gateway.membershipChanged({
        id: event.event_id,
        channel: 'matrix',
        chatId,
        place: 'group',
        change: 'left',
        byId: event.sender,
        readsAll: true,
      });
    }
  }

  /** `state`: member changes from before the timeline, and the room's end. */
  async #takeRoom(roomId: string, state: RawEvent[], timeline: RawTimeline, since: string): Promise<void> {
    const { signal } = this.#stop;
    const events = await eventsOf(this.#parts, roomId, timeline, since, signal);
    for (const event of state) this.#noteState(roomId, event);
    for (const event of events) {
      signal.throwIfAborted();
      this.#noteState(roomId, event);
      await this.#noteRedaction(roomId, event);
      await this.#takeEvent(roomId, event);
    }
    // Messages from before its end are committed first.
    if ([...state, ...events].some(isTombstone)) await followRoom(this.#parts, roomId);
  }

  async #takeEvent(roomId: string, event: RawEvent): Promise<void> {
    const { sending, self } = this.#parts;
    const { signal } = this.#stop;
    const clear = await retryWhile(isRetryable, () => sending.inClear(roomId, event), signal);
    if (clear.type === 'm.room.encrypted') {
      if (clear.sender === self || clear.content['ciphertext'] === undefined) return;
      await retryWhile(isRetryable, () => this.#unread.add(roomId, clear.event_id), signal);
      this.#background.run('matrix_unread_failed', this.#unread.explain(roomId, clear));
      return;
    }
    const message = await retryWhile(isRetryable, () => this.#reader.read(roomId, clear), signal);
    if (message !== undefined) await this.#commit(message);
  }

  /** Keys of a room have arrived: some messages there may be readable now. */
  async #takeUnread(roomId: string): Promise<void> {
    for await (const { event, taken } of this.#unread.readable(roomId)) {
      await this.#takeEvent(roomId, event);
      await taken();
    }
  }

  #noteState(roomId: string, event: RawEvent): void {
    this.#parts.encryption.noteState(roomId, event);
    if (event.type === ROOM_NAME) this.#rooms.renamed(roomId);
    const member = readMember(event);
    if (member !== undefined) this.#rooms.changed(roomId, member.userId);
  }

  /** The homeserver shows redactions only by those who may: the author, and people with the power for it. */
  async #noteRedaction(chatId: string, event: RawEvent): Promise<void> {
    const redacted = readRedaction(event);
    const { gateway, self } = this.#parts;
    if (redacted === undefined || event.sender === self) return;
    const deleted = { channel: 'matrix', chatId, messageIds: [redacted] };
    await retryWhile(isRetryable, () => gateway.messagesDeleted(deleted), this.#stop.signal);
  }

  /** A message that can never be committed must not stop all others: it is skipped, with an error in the log. */
  async #commit(message: InboundMessage): Promise<void> {
    const { receive, reactions, log } = this.#parts;
    const { chatId, messageId, isEdit } = message;
    // Before the commit: the reaction of a turn that starts at once must find it.
    if (messageId !== undefined && isEdit !== true) reactions.arrived({ chatId, messageId });
    try {
      const receipt = await retryWhile(isRetryable, () => receive(message), this.#stop.signal);
      if (receipt.kind !== 'refused') this.#background.run('matrix_not_marked_read', this.#markRead(message));
      const reply = receipt.kind === 'handled' || receipt.kind === 'refused' ? receipt.reply : undefined;
      if (reply !== undefined) this.#background.run('matrix_reply_failed', this.#reply(message, reply));
    } catch (error) {
      const failure = toGatewayError(error);
      if (failure.retryable || this.#stop.signal.aborted) throw error;
      log.error({ err: failure, chatId: message.chatId }, 'matrix_message_dropped');
    }
  }

  /** The read receipt that people see at what the bot acts on ("Receipts"). */
  async #markRead({ chatId, threadId = 'main', messageId }: InboundMessage): Promise<void> {
    if (messageId === undefined) return;
    const path = pathOf(CLIENT, 'rooms', chatId, 'receipt', 'm.read', messageId);
    await this.#parts.client.call('POST', path, { body: { thread_id: threadId }, limit: 'receipt' });
  }

  /** Shows the answer to a press where it happened; other replies are deliveries of the gateway. */
  async #reply(message: InboundMessage, text: string): Promise<void> {
    const { sending } = this.#parts;
    const content = contentOfText(message, message.messageId, text);
    const send = () => sending.send(message, content, `reply ${message.id}`);
    await retryWhile(isRetryable, send, this.#stop.signal);
  }
}

/** The homeserver refuses the position to continue from, and not the account. */
function isPositionRefused(error: unknown): boolean {
  return ['M_INVALID_PARAM', 'M_UNKNOWN_POS', 'M_BAD_PARAM', 'M_UNKNOWN'].includes(errcodeOf(error) ?? '');
}
