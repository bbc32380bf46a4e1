/** Receiving from `start` to `stop`: one sync after another, each finished once everything in it is committed. */
import { textRef } from '../../../src/protocol/texts/say.ts';
import type { ChannelDeps } from '../../../src/protocol/channel.ts';
import { toGatewayError, isRetryable } from '../../../src/protocol/errors.ts';
import type { ChannelHealth, GatewayApi } from '../../../src/protocol/gateway-api.ts';
import type { InboundMessage } from '../../../src/protocol/message.ts';
import type { SingleReactions } from '../../../src/protocol/channel-parts.ts';
import type { Receive } from '../../../src/protocol/receive.ts';
import { BackgroundWork } from '../../../src/lib/async/background.ts';
import { backoffMs } from '../../../src/lib/async/backoff.ts';
import { pause } from '../../../src/lib/async/sleep.ts';
import type { MatrixClient } from '../client.ts';
import { contentOfText } from '../content.ts';
import { errcodeOf } from '../errors.ts';
import {
  isRoom,
  isTombstone,
  type RawEvent,
  readEvent,
  readMember,
  readRedaction,
  type SyncAnswer,
} from '../events.ts';
import type { Replacements } from '../replacements.ts';
import type { Sending } from '../sending.ts';
import { answerInvitation } from './invites.ts';
import { followRoom } from './moves.ts';
import { Reader, type ReaderParts } from './reader.ts';
import { retryWhile } from '../../../src/lib/async/retry.ts';
import { forEachConcurrently } from '../../../src/lib/async/run-concurrently.ts';
import { Rooms } from './rooms.ts';
import { eventsOf, sync, type SyncParts } from './sync.ts';

/** Rooms of one sync whose events are committed in parallel; within a room they follow one another. */
export const ROOMS_AT_ONCE = 16;
const BACKOFF_CAP_MS = 30_000;
/** Failed syncs in a row before a refused position is dropped: a single refusal may be the homeserver's mistake. */
export const MAX_REFUSALS = 5;
/** How long `stop` waits at most for commits in progress, in milliseconds. */
const CLOSE_MS = 5_000;

/** The channel's dependencies. */
export interface MatrixDeps extends Pick<
  ChannelDeps,
  'log' | 'connections' | 'access' | 'chatSettings' | 'languages'
> {
  gateway: Pick<
    GatewayApi,
    'commands' | 'groups' | 'mayWrite' | 'membershipChanged' | 'messagesDeleted' | 'chatMoved'
  >;
}

export interface ReceivingParts extends MatrixDeps {
  receive: Receive;
  client: MatrixClient;
  sending: Sending;
  replacements: Replacements;
  reactions: Pick<SingleReactions, 'arrived'>;
  /** The id of the bot. */
  self: string;
  epochNow: () => number;
  longPollMs: number;
  retryBaseMs: number;
}

export class Receiving {
  readonly #parts: ReceivingParts;
  readonly #key: string;
  readonly #stop = new AbortController();
  readonly #rooms: Rooms;
  readonly #reader: Reader;
  readonly #sync: SyncParts;
  /** Short replies. Awaited at `stop`. */
  readonly #background: BackgroundWork;
  #since: string | undefined;
  #isUp = false;
  #failures = 0;
  #done: Promise<void> = Promise.resolve();

  constructor(parts: ReceivingParts) {
    const { log, self } = parts;
    this.#parts = parts;
    this.#key = `matrix:${self}`;
    this.#rooms = new Rooms(parts);
    const reader: ReaderParts = { ...parts, rooms: this.#rooms, commands: parts.gateway.commands };
    this.#reader = new Reader(reader);
    this.#sync = parts;
    this.#background = new BackgroundWork((error, failure) => {
      if (!this.#stop.signal.aborted) log.warn({ err: error }, failure);
    });
  }

  get health(): ChannelHealth {
    if (this.#isUp) return { state: 'up' };
    return this.#failures === 0
      ? { state: 'starting' }
      : { state: 'degraded', detail: textRef('health.server_sync', { network: 'Matrix' }) };
  }

  /**
   * Resolves once the position is known after which everything is new: for an account that has never received, after
   * the homeserver's first answer or first failure. Throws `StoreError` if it cannot be read.
   */
  async start(): Promise<void> {
    this.#since = (await this.#parts.connections.connection(this.#key))?.session?.id;
    if (this.#since === undefined) await this.#syncOnce();
    this.#done = this.#run();
  }

  /** Never throws. */
  async stop(): Promise<void> {
    this.#stop.abort();
    const limit = new AbortController();
    const all = Promise.all([this.#done, ...this.#background.running]);
    await Promise.race([all, pause(CLOSE_MS, limit.signal)]);
    limit.abort();
    this.#isUp = false;
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) await this.#syncOnce();
  }

  /** Never throws. */
  async #syncOnce(): Promise<void> {
    const { signal } = this.#stop;
    const { log, retryBaseMs } = this.#parts;
    try {
      // The first sync, and the first after a failure, is answered at once: health must not wait for a
      // message.
      const answer = await sync(
        this.#sync,
        { since: this.#since, ...(!this.#isUp && { waitMs: 0 }) },
        signal,
      );
      this.#isUp = true;
      if (this.#since !== undefined) await this.#takeAnswer(answer, this.#since);
      else await this.#takeInvites(answer, answer.next_batch);
      await this.#keepPosition(answer.next_batch);
      this.#failures = 0;
    } catch (thrown) {
      if (signal.aborted) return;
      const error = toGatewayError(thrown);
      this.#isUp = false;
      log.warn({ err: error, failures: this.#failures }, 'matrix_receiving_failed');
      if (this.#failures + 1 >= MAX_REFUSALS && isPositionRefused(error)) this.#forgetPosition();
      const waitMs = error.retryAfterMs ?? backoffMs(this.#failures, retryBaseMs, BACKOFF_CAP_MS);
      this.#failures += 1;
      await pause(waitMs, signal);
    }
  }

  /** Only now can nothing of the sync be lost: the next one starts after it. Throws `StoreError`. */
  async #keepPosition(since: string): Promise<void> {
    if (since === this.#since) return;
    const { connections, epochNow } = this.#parts;
    await connections.saveSession(this.#key, { id: since, sequence: 0, detail: {} }, epochNow());
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
    const rooms = Object.entries(answer.rooms?.join ?? {}).filter(([roomId]) => isRoom(roomId));
    await forEachConcurrently(
      rooms,
      ROOMS_AT_ONCE,
      async ([roomId, { state, timeline = { events: [] } }]) => {
        await this.#takeRoom({ roomId, state: state?.events ?? [], timeline }, since);
      },
    );
    await this.#takeLeft(answer);
  }

  async #takeInvites({ rooms }: SyncAnswer, since: string): Promise<void> {
    const { epochNow } = this.#parts;
    for (const [roomId, { invite_state: state }] of Object.entries(rooms?.invite ?? {})) {
      if (!isRoom(roomId)) continue;
      await answerInvitation(this.#parts, { roomId, state: state?.events ?? [], since, at: epochNow() });
    }
  }

  /** Rooms that the bot has left; a declined invitation is not one of them. */
  async #takeLeft({ rooms }: SyncAnswer): Promise<void> {
    const { gateway, self } = this.#parts;
    for (const [chatId, { timeline }] of Object.entries(rooms?.leave ?? {})) {
      const left = (timeline?.events ?? [])
        .flatMap((one) => readEvent(one) ?? [])
        .findLast(isMembershipOf(self));
      if (!isRoom(chatId) || left?.unsigned?.prev_content?.membership !== 'join') continue;
      const change = {
        id: left.event_id,
        channel: 'matrix',
        chatId,
        place: 'group',
        change: 'left',
      } as const;
      await gateway.membershipChanged({ ...change, byId: left.sender, readsAll: true });
    }
  }

  async #takeRoom(room: Parameters<typeof eventsOf>[1], since: string): Promise<void> {
    const { signal } = this.#stop;
    const { roomId, state, events } = await eventsOf(this.#sync, room, since, signal);
    for (const event of state) this.#noteMember(roomId, event);
    for (const event of events) {
      signal.throwIfAborted();
      this.#noteMember(roomId, event);
      await this.#noteRedaction(roomId, event);
      const message = await retryWhile(isRetryable, () => this.#reader.read(roomId, event), signal);
      if (message !== undefined) await this.#commit(message);
    }
    // Messages from before its end are committed first.
    if ([...state, ...events].some(isTombstone)) await followRoom(this.#parts, roomId);
  }

  #noteMember(roomId: string, event: RawEvent): void {
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
      const reply = receipt.kind === 'handled' || receipt.kind === 'refused' ? receipt.reply : undefined;
      if (reply !== undefined) this.#background.run('matrix_reply_failed', this.#reply(message, reply));
    } catch (error) {
      const failure = toGatewayError(error);
      if (failure.retryable || this.#stop.signal.aborted) throw error;
      log.error({ err: failure, chatId: message.chatId }, 'matrix_message_dropped');
    }
  }

  /** Shows the answer to a press where it happened; other replies are deliveries of the gateway. */
  async #reply(message: InboundMessage, text: string): Promise<void> {
    const { sending } = this.#parts;
    const content = contentOfText(message, text);
    await retryWhile(
      isRetryable,
      () => sending.send(message, content, `reply ${message.id}`),
      this.#stop.signal,
    );
  }
}

function isMembershipOf(userId: string): (event: RawEvent) => boolean {
  return (event) => readMember(event)?.userId === userId;
}

/** The homeserver refuses the position to continue from, and not the account. */
function isPositionRefused(error: unknown): boolean {
  const code = errcodeOf(error);
  return (
    code === 'M_INVALID_PARAM' || code === 'M_UNKNOWN_POS' || code === 'M_BAD_PARAM' || code === 'M_UNKNOWN'
  );
}
