/** Messages whose keys have not arrived: remembered for their room, told there once, and read when the key comes. */
import { z } from 'zod';
import { ChannelError } from '../../src/protocol/errors.ts';
import { addressOf, type Place } from '../../src/protocol/message.ts';
import { sayToPerson } from '../../src/protocol/texts/languages.ts';
import { parseJson } from '../../src/lib/json/json.ts';
import { pause } from '../../src/lib/async/sleep.ts';
import { contentOfText } from './content.ts';
import type { RawEvent } from './events.ts';
import type { ReceivingParts } from './sync.ts';

/** The key under which the store keeps the ids of a room's unread events; how many, and for how many milliseconds. */
const UNREAD = 'matrix_unread';
export const MAX_UNREAD = 20;
const UNREAD_MS = 24 * 3_600_000;
/** The key under which the store records that a room was told, and for how many milliseconds. */
const NOTICE = 'matrix_encrypted';
const NOTICE_MS = 7 * 24 * 3_600_000;

const Ids = z.array(z.string()).catch([]);

/** Each function throws `ChannelError`, `StoreError`. */
export class Unread {
  readonly #parts: ReceivingParts;
  readonly #signal: AbortSignal;

  constructor(parts: ReceivingParts, signal: AbortSignal) {
    this.#parts = parts;
    this.#signal = signal;
  }

  /** Remembers an event that cannot be read, the newest ones of a room. */
  async add(roomId: string, eventId: string): Promise<void> {
    const ids = await this.#ids(roomId);
    await this.#save(roomId, [...ids.filter((id) => id !== eventId), eventId].slice(-MAX_UNREAD));
  }

  /** Tells the room, once a week from any process, if the key has not followed the message. */
  async explain(roomId: string, { event_id: id, sender }: RawEvent): Promise<void> {
    const { chatSettings, sending, languages, log, timing } = this.#parts;
    await pause(timing.keyGraceMs, this.#signal);
    const place = placeOf(roomId);
    if (this.#signal.aborted || !(await this.#ids(roomId)).includes(id)) return;
    if ((await chatSettings.chatSetting(addressOf(place), NOTICE)) !== undefined) return;
    const say = await sayToPerson(languages, `matrix:${sender}`);
    const content = contentOfText(place, undefined, say('room.unread'));
    try {
      await sending.send(place, content, 'unread');
    } catch (error) {
      if (!(error instanceof ChannelError) || error.code !== 'rejected') throw error;
      await sending.sendInClear(place, content, 'unread in clear');
    }
    await chatSettings.setChatSetting(addressOf(place), NOTICE, 'told', NOTICE_MS);
    log.info({ chatId: roomId }, 'matrix_event_unread');
  }

  /** Keys of a room have arrived: the events that can be read now, oldest first. `taken` is called once one is committed. */
  async *readable(roomId: string): AsyncGenerator<{ event: RawEvent; taken: () => Promise<void> }> {
    for (const id of await this.#ids(roomId)) {
      const event = await this.#parts.sending.event(roomId, id);
      if (event?.type === 'm.room.encrypted' && event.unsigned?.redacted_because === undefined) continue;
      const taken = async (): Promise<void> => {
        await this.#save(
          roomId,
          (await this.#ids(roomId)).filter((one) => one !== id),
        );
      };
      if (event === undefined) await taken();
      else yield { event, taken };
    }
  }

  async #ids(roomId: string): Promise<string[]> {
    const value = await this.#parts.chatSettings.chatSetting(addressOf(placeOf(roomId)), UNREAD);
    return Ids.parse(parseJson(value ?? '[]'));
  }

  async #save(roomId: string, ids: readonly string[]): Promise<void> {
    const value = ids.length === 0 ? undefined : JSON.stringify(ids);
    await this.#parts.chatSettings.setChatSetting(addressOf(placeOf(roomId)), UNREAD, value, UNREAD_MS);
  }
}

function placeOf(roomId: string): Place {
  return { channel: 'matrix', chatId: roomId };
}
