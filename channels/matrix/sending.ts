/** Sends, edits and redacts events: one event for one nonce, because the homeserver gives the same event for the same transaction id. */
import { createHash, randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Place, SentMessage } from '../../src/contracts/message.ts';
import { addressOf } from '../../src/contracts/message.ts';
import { Recent } from '../../src/lib/recent.ts';
import { CLIENT, pathOf } from './client.ts';
import type { MatrixClient } from './client.ts';
import { checkPlace, checkSize, editOf } from './content.ts';
import type { Content } from './content.ts';
import { errcodeOf, isAnswerLost, unavailable } from './errors.ts';
import { ChannelError } from '../../src/contracts/errors.ts';
import { readEvent } from './events.ts';
import type { Replacements } from './replacements.ts';
import type { RawEvent } from './events.ts';

/** How long an event is known by its transaction, in milliseconds, and how many. */
const KNOWN_MS = 3_600_000;
export const MAX_KNOWN = 5_000;
/** Events of one nonce that were taken away, one after the other, before it is given up. */
const MAX_REDACTED = 5;

/** Every event counts against the same limit of the homeserver's. */
const LIMIT = 'send';

const Sent = z.object({ event_id: z.string() });

export interface SendingParts {
  client: Pick<MatrixClient, 'call'>;
  replacements: Pick<Replacements, 'check' | 'forget'>;
  monotonicMs: () => number;
}

export class Sending {
  readonly #client: Pick<MatrixClient, 'call'>;
  readonly #replacements: SendingParts['replacements'];
  /** Event ids by transaction id. */
  readonly #known: Recent<string>;

  constructor({ client, replacements, monotonicMs }: SendingParts) {
    this.#client = client;
    this.#replacements = replacements;
    this.#known = new Recent(KNOWN_MS, MAX_KNOWN, monotonicMs);
  }

  /**
   * Sends a message. With a nonce that an earlier attempt used, also of another process, the event of that attempt shows this
   * content now. Throws `ChannelError`; `chat_moved` for a room that was replaced.
   */
  async send(place: Place, content: Content, nonce: string): Promise<SentMessage> {
    checkPlace(place);
    return await this.#unlessReplaced(place, async () => await this.#sendNew(place, content, nonce));
  }

  /** Replaces a message ("Event replacements"). Throws as `send`, and `message_gone` for one that was taken away. */
  async edit(sent: SentMessage, place: Place, content: Content): Promise<void> {
    checkPlace(place);
    await this.#unlessReplaced(place, async () => await this.#replace(sent, place, content));
  }

  async #sendNew(place: Place, content: Content, nonce: string): Promise<SentMessage> {
    for (let redacted = 0; redacted < MAX_REDACTED; redacted += 1) {
      const id = await this.#sendOnce(place, content, transactionOf(place, nonce, redacted));
      if (id !== undefined) return { id };
    }
    throw unavailable('The Matrix homeserver gives only events that were taken away.');
  }

  async #replace({ id }: SentMessage, place: Place, content: Content): Promise<void> {
    await this.#put(place, 'send', ['m.room.message', randomUUID()], checkSize(editOf(id, content)));
    // A homeserver takes such an edit, and shows it to nobody.
    if (isRedacted(await this.event(place.chatId, id)))
      throw new ChannelError('message_gone', 'The message was taken out of the Matrix room.');
  }

  /** Reacts to an event; gives the id of the reaction. Throws as `send`. */
  async annotate(place: Place, about: string, key: string, transaction: string): Promise<string> {
    const relation = { rel_type: 'm.annotation', event_id: about, key };
    return await this.#unlessReplaced(
      place,
      async () => await this.#put(place, 'send', ['m.reaction', transaction], { 'm.relates_to': relation }),
    );
  }

  /** Takes a message away ("Redactions"); one that is gone already is no error. Throws `ChannelError`. */
  async delete({ id }: SentMessage, place: Place): Promise<void> {
    checkPlace(place);
    try {
      await this.#put(place, 'redact', [id, transactionOf(place, `redact ${id}`, 0)], {});
    } catch (error) {
      if (errcodeOf(error) !== 'M_NOT_FOUND') throw error;
    }
  }

  /** An event of a room as it is now; undefined where the homeserver does not show it. Throws `ChannelError`. */
  async event(roomId: string, eventId: string): Promise<RawEvent | undefined> {
    try {
      return readEvent(await this.#client.call('GET', pathOf(CLIENT, 'rooms', roomId, 'event', eventId)));
    } catch (error) {
      const code = errcodeOf(error);
      if (code === 'M_NOT_FOUND' || code === 'M_FORBIDDEN') return undefined;
      throw error;
    }
  }

  /** A room that takes nothing more may have been replaced since it was last asked for. */
  async #unlessReplaced<T>({ chatId }: Place, act: () => Promise<T>): Promise<T> {
    await this.#replacements.check(chatId);
    try {
      return await act();
    } catch (error) {
      if (errcodeOf(error) !== 'M_FORBIDDEN') throw error;
      this.#replacements.forget(chatId);
      await this.#replacements.check(chatId);
      throw error;
    }
  }

  /** Undefined when the event of this transaction was taken away. */
  async #sendOnce(place: Place, content: Content, transaction: string): Promise<string | undefined> {
    const known = this.#known.get(transaction);
    const id = known ?? (await this.#put(place, 'send', ['m.room.message', transaction], checkSize(content)));
    this.#known.set(transaction, id);
    // The homeserver does not tell whether it has made the event now, or long ago from another text.
    const event = await this.event(place.chatId, id);
    if (event === undefined) return id;
    if (isRedacted(event)) return undefined;
    const shown = shownContent(event);
    if (shown['body'] === content.body && shown['formatted_body'] === content.formatted_body) return id;
    await this.#replace({ id }, place, content);
    return id;
  }

  /** Gives the event's id. A lost answer is asked for once more: the same transaction makes no second event. */
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
    if (data === undefined) throw unavailable('The Matrix homeserver gave an answer that names no event.');
    return data.event_id;
  }
}

function isRedacted(event: RawEvent | undefined): boolean {
  return event?.unsigned?.redacted_because !== undefined;
}

/** The content of an event after its last edit, which the homeserver bundles with it. */
export function shownContent({ content, unsigned }: RawEvent): Record<string, unknown> {
  const edit = readEvent(unsigned?.['m.relations']?.['m.replace']);
  const fresh = edit?.content['m.new_content'];
  return { ...(fresh === undefined ? content : Object(fresh)) };
}

/** The same for every attempt, in every process. */
function transactionOf(place: Place, nonce: string, redacted: number): string {
  const again = redacted === 0 ? '' : `\n${redacted}`;
  return createHash('sha256')
    .update(`${addressOf(place)}\n${nonce}${again}`)
    .digest('base64url')
    .slice(0, 32);
}
