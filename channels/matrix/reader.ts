/** Reads a room event: as a message, a button press, or a reaction that stops an answer. */
import { z } from 'zod';
import type { EarlierMessage } from '../../src/protocol/channel.ts';
import type { InboundMessage, Place } from '../../src/protocol/message.ts';
import { toAct } from '../../src/protocol/channel-parts.ts';
import { checkPlace, type KeptButton, mayPress, namedIn, pressedBy, readButtons } from './content.ts';
import { pathOf, RELATIONS } from './client.ts';
import { type RawEvent, type RawMessage, readEvents, readMessage, readReaction } from './events.ts';
import { editedIn, isStop, placeOf, replyOf, toEarlier, toInbound } from './inbound.ts';
import type { Rooms } from './rooms.ts';
import { shownContent } from './sending.ts';
import type { ReceivingParts } from './sync.ts';

const Relations = z.object({ chunk: z.array(z.unknown()).catch([]) }).catch({ chunk: [] });

export class Reader {
  readonly #parts: ReceivingParts;
  readonly #rooms: Rooms;

  constructor(parts: ReceivingParts, rooms: Rooms) {
    this.#parts = parts;
    this.#rooms = rooms;
  }

  /** Undefined for an event that needs no action; it is in clear. Throws `ChannelError`, `StoreError`. */
  async read(roomId: string, event: RawEvent): Promise<InboundMessage | undefined> {
    if (event.sender === this.#parts.self) return undefined;
    const reaction = readReaction(event);
    if (reaction !== undefined) return await this.#readReaction(roomId, event, reaction);
    const message = readMessage(event);
    return message && (await this.#readMessage(roomId, message));
  }

  /** The newest `limit` messages of a thread before a message, or until now; oldest first. Throws `ChannelError`. */
  async readThread(place: Place, messageId: string | undefined, limit: number): Promise<EarlierMessage[]> {
    checkPlace(place);
    const { chatId: roomId, threadId = '' } = place;
    const { client, sending } = this.#parts;
    // One more than needed: the message itself is among the newest.
    const query = { dir: 'b', limit: String(limit + 1) };
    const path = pathOf(RELATIONS, roomId, 'relations', threadId, 'm.thread');
    const { chunk } = Relations.parse(await client.call('GET', path, { query, limit: 'relations' }));
    const newestFirst = await Promise.all(
      readEvents(chunk).map(async (event) => await sending.inClear(roomId, event)),
    );
    const earlier = newestFirst.slice(
      newestFirst.findIndex(({ event_id: id }) => id === messageId) + 1,
      limit + 1,
    );
    const root = earlier.length < limit ? await sending.event(roomId, threadId) : undefined;
    const events = [...earlier, ...(root === undefined ? [] : [root])].slice(0, limit).toReversed();
    const messages = events.flatMap((event) => readMessage({ ...event, content: shownContent(event) }) ?? []);
    const { self } = this.#parts;
    return await Promise.all(
      messages.map(async (message) => {
        const senderName = await this.#rooms.nameOf(roomId, message.sender);
        return toEarlier(roomId, message, self, senderName);
      }),
    );
  }

  async #readMessage(roomId: string, message: RawMessage): Promise<InboundMessage | undefined> {
    const { sending, self, gateway } = this.#parts;
    const rooms = this.#rooms;
    const reply = replyOf(message);
    const replied = reply === undefined ? undefined : await sending.event(roomId, reply);
    const repliedTo = replied && readMessage({ ...replied, content: shownContent(replied) });
    const edit = editedIn(message);
    const edited = edit === undefined ? undefined : await sending.event(roomId, edit);
    const inbound = toInbound(message, {
      roomId,
      place: await rooms.placeOf(roomId),
      self: { userId: self, name: await rooms.nameOf(roomId, self) },
      senderName: await rooms.nameOf(roomId, message.sender),
      commands: gateway.commands,
      edited: edited && readMessage(edited),
      ...(repliedTo && { repliedTo, repliedName: await rooms.nameOf(roomId, repliedTo.sender) }),
    });
    const button = replied && namedIn(inbound.content, this.#buttonsOf(replied));
    if (button === undefined && inbound.place === 'group' && inbound.mentioned)
      return { ...inbound, chatName: await rooms.titleOf(roomId) };
    return button === undefined ? inbound : pressOf(inbound, button, replied?.event_id ?? '');
  }

  async #readReaction(
    roomId: string,
    event: RawEvent,
    reaction: { about: string; key: string },
  ): Promise<InboundMessage | undefined> {
    const isPress = mayPress(reaction.key);
    const about = isPress ? await this.#parts.sending.event(roomId, reaction.about) : undefined;
    const button = about && pressedBy(reaction.key, this.#buttonsOf(about));
    if (button === undefined && !isStop(reaction.key)) return undefined;
    const { event_id: id, sender: senderId, origin_server_ts: timestamp } = event;
    const place = await this.#rooms.placeOf(roomId);
    const shown = about && readMessage(about);
    const where = shown === undefined ? { channel: 'matrix', chatId: roomId } : placeOf(roomId, shown);
    const message = toAct({ id, ...where, senderId, timestamp, place });
    if (button === undefined) return { ...message, stops: reaction.about };
    const senderName = await this.#rooms.nameOf(roomId, senderId);
    return pressOf({ ...message, senderName }, button, reaction.about);
  }

  /** Only what the bot itself has offered counts as a button. */
  #buttonsOf(event: RawEvent): KeptButton[] {
    return event.sender === this.#parts.self ? readButtons(shownContent(event)) : [];
  }
}

function pressOf(message: InboundMessage, { value }: KeptButton, under: string): InboundMessage {
  const { quoted: _quoted, messageId: _messageId, ...press } = message;
  return { ...press, content: '', media: [], button: value, buttonUnder: { id: under }, mentioned: true };
}
