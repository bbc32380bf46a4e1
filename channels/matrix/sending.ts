/** Sends, edits and redacts events: one event per nonce, because the homeserver returns the same event for the same transaction id. */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { addressOf, type Place, type SentMessage } from '../../src/protocol/message.ts';
import { TtlCache } from '../../src/lib/ttl-cache.ts';
import { CLIENT, errcodeOf, isAnswerLost, type MatrixClient, pathOf } from './client.ts';
import { checkPlace, checkSize, type Content, editOf, fitEncrypted } from './content.ts';
import { nonceDigest } from '../../src/protocol/channel-parts.ts';
import { ChannelError, channelUnavailable } from '../../src/protocol/errors.ts';
import { type RawEvent, readEvent } from './events.ts';
import type { Encryption } from './encryption/encryption.ts';
import type { Replacements } from './rooms.ts';

/** How long an event is remembered by its transaction, in milliseconds, and how many. */
const REMEMBERED_MS = 3_600_000;
export const MAX_KNOWN = 5_000;
/** Maximum number of redacted events with one nonce before the send is abandoned. */
const MAX_REDACTED = 5;
/** Every event counts toward the same homeserver limit. */
const LIMIT = 'send';

const Sent = z.object({ event_id: z.string() });

export class Sending {
  readonly #client: MatrixClient;
  readonly #replacements: Replacements;
  readonly #encryption: Encryption;
  /** Event ids by transaction id. */
  readonly #sent: TtlCache<string>;

  constructor(
    client: MatrixClient,
    replacements: Replacements,
    encryption: Encryption,
    monotonicMs: () => number,
  ) {
    this.#client = client;
    this.#replacements = replacements;
    this.#encryption = encryption;
    this.#sent = new TtlCache(REMEMBERED_MS, MAX_KNOWN, monotonicMs);
  }

  /** Sends a message, or gives this content to that of an earlier attempt. Throws `ChannelError`; `chat_moved` for a replaced room. */
  async send(place: Place, content: Content, nonce: string): Promise<SentMessage> {
    checkPlace(place);
    return await this.#unlessReplaced(place, async () => await this.#sendNew(place, content, nonce));
  }

  /** Sends a message that anyone may read, also to an encrypted room: for a bot without keys. Throws `ChannelError`. */
  async sendInClear(place: Place, content: Content, nonce: string): Promise<void> {
    await this.#put(place, 'send', ['m.room.message', transactionOf(place, nonce, 0)], checkSize(content));
  }

  /** Replaces a message ("Event replacements"). Throws like `send`, and `message_gone` if the message was redacted. */
  async edit(message: SentMessage, place: Place, content: Content): Promise<void> {
    checkPlace(place);
    await this.#unlessReplaced(place, async () => await this.#replace(message, place, content));
  }

  async #sendNew(place: Place, content: Content, nonce: string): Promise<SentMessage> {
    for (let redacted = 0; redacted < MAX_REDACTED; redacted += 1) {
      const id = await this.#sendOnce(place, content, transactionOf(place, nonce, redacted));
      if (id !== undefined) return { id };
    }
    throw channelUnavailable('The Matrix homeserver returns only events that were deleted.');
  }

  async #replace({ id }: SentMessage, place: Place, content: Content): Promise<void> {
    await this.#putMessage(place, randomUUID(), editOf(id, content));
    // A homeserver accepts such an edit, and shows it to no one.
    if (isRedacted(await this.event(place.chatId, id)))
      throw new ChannelError('message_gone', 'The message was deleted from the Matrix room.');
  }

  /** Reacts to an event; returns the id of the reaction. Throws like `send`. */
  async annotate(place: Place, about: string, key: string, transaction: string): Promise<string> {
    const relation = { rel_type: 'm.annotation', event_id: about, key };
    return await this.#unlessReplaced(
      place,
      async () => await this.#put(place, 'send', ['m.reaction', transaction], { 'm.relates_to': relation }),
    );
  }

  /** Redacts a message ("Redactions"); a message that is already gone is not an error. Throws `ChannelError`. */
  async delete({ id }: SentMessage, place: Place): Promise<void> {
    checkPlace(place);
    try {
      await this.#put(place, 'redact', [id, transactionOf(place, `redact ${id}`, 0)], {});
    } catch (error) {
      if (errcodeOf(error) !== 'M_NOT_FOUND') throw error;
    }
  }

  /**
   * The current state of an event in a room, in clear if its key is here; undefined if the homeserver does not show it.
   * Throws `ChannelError`, `StoreError`.
   */
  async event(roomId: string, eventId: string): Promise<RawEvent | undefined> {
    try {
      const path = pathOf(CLIENT, 'rooms', roomId, 'event', eventId);
      const event = readEvent(await this.#client.call('GET', path));
      return event && (await this.inClear(roomId, event));
    } catch (error) {
      const code = errcodeOf(error);
      if (code === 'M_NOT_FOUND' || code === 'M_FORBIDDEN') return undefined;
      throw error;
    }
  }

  /** An event in clear; unchanged if it cannot be decrypted. Throws `ChannelError` if that may change soon, `StoreError`. */
  async inClear(roomId: string, event: RawEvent): Promise<RawEvent> {
    try {
      return (await this.#encryption.decrypt(roomId, event)) ?? event;
    } catch (error) {
      if (error instanceof ChannelError && error.code === 'rejected') return event;
      throw error;
    }
  }

  /** A room that accepts nothing more may have been replaced since the last check. */
  async #unlessReplaced<T>({ chatId }: Place, act: () => Promise<T>): Promise<T> {
    await this.#replacements.check(chatId);
    try {
      return await act();
    } catch (error) {
      if (errcodeOf(error) !== 'M_FORBIDDEN') throw error;
      this.#replacements.forgetRoom(chatId);
      await this.#replacements.check(chatId);
      throw error;
    }
  }

  /** Undefined if the event of this transaction was redacted. */
  async #sendOnce(place: Place, content: Content, transaction: string): Promise<string | undefined> {
    const id = this.#sent.get(transaction) ?? (await this.#putMessage(place, transaction, content));
    this.#sent.set(transaction, id);
    // The homeserver does not say whether it has created the event now, or long ago from another text.
    const event = await this.event(place.chatId, id);
    if (event === undefined) return id;
    if (isRedacted(event)) return undefined;
    const current = shownContent(event);
    if (current['body'] === content.body && current['formatted_body'] === content.formatted_body) return id;
    await this.#replace({ id }, place, content);
    return id;
  }

  /** Encrypted where the room is; reactions are not ("m.annotation"), so that homeservers can count them. */
  async #putMessage(place: Place, transaction: string, content: Content): Promise<string> {
    if (!(await this.#encryption.isEncrypted(place.chatId)))
      return await this.#put(place, 'send', ['m.room.message', transaction], checkSize(content));
    const encrypted = await this.#encryption.encrypt(place.chatId, 'm.room.message', fitEncrypted(content));
    return await this.#put(place, 'send', ['m.room.encrypted', transaction], encrypted);
  }

  /** Returns the event's id. A lost answer is requested once more: the same transaction creates no second event. */
  async #put(
    place: Place,
    kind: 'send' | 'redact',
    last: readonly string[],
    content: object,
  ): Promise<string> {
    const path = pathOf(CLIENT, 'rooms', place.chatId, kind, ...last);
    const call = async (): Promise<unknown> =>
      await this.#client.call('PUT', path, { body: content, limit: LIMIT });
    const answer = await call().catch(async (error: unknown) => {
      if (isAnswerLost(error)) return await call();
      throw error;
    });
    const { data } = Sent.safeParse(answer);
    if (data === undefined)
      throw channelUnavailable('The Matrix homeserver gave an answer that names no event.');
    return data.event_id;
  }
}

function isRedacted(event: RawEvent | undefined): boolean {
  return event?.unsigned?.redacted_because !== undefined;
}

/** The content of an event after its last edit, which the homeserver includes with the event. */
export function shownContent({ content, unsigned }: RawEvent): Record<string, unknown> {
  const edit = readEvent(unsigned?.['m.relations']?.['m.replace']);
  const fresh = edit?.content['m.new_content'];
  return { ...(fresh === undefined ? content : Object(fresh)) };
}

/** The same for every attempt, in every process. */
function transactionOf(place: Place, nonce: string, redacted: number): string {
  const suffix = redacted === 0 ? '' : `\n${redacted}`;
  return nonceDigest(`${addressOf(place)}\n${nonce}${suffix}`, 32);
}
