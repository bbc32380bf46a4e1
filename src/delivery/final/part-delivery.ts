/** Sends or edits the parts of one final answer, each exactly once, and works around refusals of the platform. */
import type { Channel, OutboundFile, OutboundPart, Rendered } from '../../protocol/channel.ts';
import { ChannelError } from '../../protocol/errors.ts';
import type { Log } from '../../protocol/log.ts';
import type { Button, OutboundMessage, Place, SentMessage, ChatMigration } from '../../protocol/message.ts';
import { nonceOf } from '../nonce.ts';
import type { FinalCall } from './final-calls.ts';
import type { CallTarget } from '../rate/scheduler.ts';

export interface PartDeliveryOptions {
  channel: Channel;
  final: FinalCall;
  message: OutboundMessage;
  ref: string;
  /** Parts that are already on screen. */
  known: SentMessage[];
  /** The message on screen before the first part. */
  after?: SentMessage | undefined;
  /** Texts that they are certain to show; undefined where unknown. */
  shown: readonly (string | undefined)[];
  log: Log;
  noteSent: (sent: SentMessage[]) => Promise<void>;
  /** Returns those of these ids under which any delivery is known. */
  sentAmong: (ids: readonly string[]) => Promise<string[]>;
  onChatMoved: (move: ChatMigration) => void;
}

/** Where a part is sent, and what identifies it as the same part at each attempt. */
type PartPlace = Place & Pick<OutboundPart, 'replyTo' | 'after' | 'nonce' | 'onlyFor' | 'repliesHidden'>;

/** Recoveries that are tried once per delivery. */
interface Recovered {
  moved: boolean;
  place: boolean;
  gone: boolean;
}

/** A file to show: the fields that do not depend on the place. */
export type FilePart = Pick<OutboundFile, 'kind' | 'name' | 'mimeType' | 'bytes' | 'path' | 'caption'>;

export class PartDelivery {
  readonly #options: PartDeliveryOptions;
  readonly #recovered: Recovered = { moved: false, place: false, gone: false };
  #place: Place;
  #replyTo: string | undefined;
  #sent: SentMessage[];
  /** Messages that accepted no edit, and show a part of the answer in addition to the new one. */
  #abandoned: SentMessage[] = [];

  constructor(options: PartDeliveryOptions) {
    const { channel, chatId, threadId, replyTo } = options.message;
    this.#options = options;
    this.#place = { channel, chatId, threadId };
    this.#replyTo = replyTo;
    // What they showed while growing no longer matters.
    this.#sent = options.known.map(({ shows: _shows, ...sent }) => sent);
  }

  /** The ids of all parts on screen. */
  get sent(): SentMessage[] {
    return [...this.#sent];
  }

  /** Shows one part: edits the existing message, otherwise sends it and stores its id. Throws `ChannelError`, `StoreError`. */
  async put(index: number, body: Rendered, isLast: boolean): Promise<void> {
    let plain = false;
    for (;;) {
      try {
        await this.#show(index, { body, plain, buttons: isLast ? this.#buttons : [] });
        return;
      } catch (error) {
        // A refused rich message is not cut into normal ones.
        if (body.rich === true && isRefusedAsIs(error)) throw error;
        if (!(error instanceof ChannelError) || !this.#recover(error, index, plain)) throw error;
        plain ||= error.code === 'bad_markup' || error.code === 'rejected';
      }
    }
  }

  /** True for a part that is on screen. */
  has(index: number): boolean {
    return this.#sent[index] !== undefined;
  }

  /** Sends a file as the part after those on screen, and stores its id. Throws `ChannelError`, `StoreError`. */
  async putFile(index: number, file: FilePart): Promise<void> {
    for (;;) {
      try {
        return await this.#send(index, (place) => this.#options.channel.sendFile?.({ ...place, ...file }));
      } catch (error) {
        const isPlace =
          error instanceof ChannelError && (error.code === 'place_gone' || error.code === 'chat_moved');
        if (!isPlace || !this.#recover(error, index, true)) throw error;
      }
    }
  }

  /**
   * Replaces the text of a message that is no longer needed; one that is already gone is not an error. Throws
   * `ChannelError`.
   */
  async replace(index: number, body: Rendered): Promise<void> {
    const known = this.#sent[index];
    if (known === undefined) return;
    try {
      await this.#edit(index, known, this.#part(index, { body, plain: false, buttons: [] }));
    } catch (error) {
      if (!(error instanceof ChannelError) || error.code !== 'message_gone') throw error;
    }
  }

  /**
   * Deletes the messages from `index` on, the last one first, and those that accepted no edit; messages that the
   * platform keeps show `instead`. A permanent refusal is only logged: the answer is on screen. Throws
   * `ChannelError`, `StoreError` if it should be retried.
   */
  async takeAway(index: number, instead: Rendered): Promise<void> {
    for (const surplus of [...this.#sent.slice(index).toReversed(), ...this.#abandoned.splice(0)]) {
      try {
        if (await this.#delete(surplus)) this.#sent = this.#sent.filter((sent) => sent !== surplus);
        else await this.replace(this.#sent.indexOf(surplus), instead);
      } catch (error) {
        if (!(error instanceof ChannelError) || error.retryable) throw error;
        const { channel, chatId } = this.#place;
        const { ref, log } = this.#options;
        log.warn({ err: error, channel, chatId, ref, messageId: surplus.id }, 'surplus_message_not_deleted');
      }
    }
  }

  /**
   * Deletes messages left by lost sends of these parts. A possible copy is first edited to show `instead`: that
   * succeeds only for one of the bot's own messages. Throws `ChannelError`, `StoreError` if it should be retried.
   */
  async takeCopies(instead: Rendered): Promise<void> {
    const { channel, ref, sentAmong } = this.#options;
    for (const [index, sent] of this.#sent.entries()) {
      const nonce = nonceOf(ref, index);
      const copies = channel.lostSends?.copiesOf(nonce, sent) ?? [];
      const known = copies.length === 0 ? [] : await sentAmong(copies.map(({ id }) => id));
      for (const copy of copies) if (!known.includes(copy.id)) await this.#takeCopy(index, copy, instead);
      channel.lostSends?.forgetNonce(nonce);
    }
  }

  async #takeCopy(index: number, copy: SentMessage, instead: Rendered): Promise<void> {
    const { channel, final, ref, log } = this.#options;
    const part = this.#part(index, { body: instead, plain: false, buttons: [] });
    try {
      await final(this.#target, async () => channel.edit?.(copy, part));
      await this.#delete(copy);
      log.info({ channel: channel.name, chatId: part.chatId, ref, messageId: copy.id }, 'copy_removed');
    } catch (error) {
      // Usually it belongs to someone else, or to another chat: there was nothing to delete.
      if (!(error instanceof ChannelError) || error.retryable) throw error;
    }
  }

  /** False for a message that cannot be deleted: the channel cannot, or the platform keeps this one. */
  async #delete(surplus: SentMessage): Promise<boolean> {
    const { channel, final } = this.#options;
    if (channel.delete === undefined) return false;
    try {
      const place = this.#place;
      await final(this.#target, async () => channel.delete?.(surplus, place));
      return true;
    } catch (error) {
      if (error instanceof ChannelError && error.code === 'rejected') return false;
      throw error;
    }
  }

  async #show(index: number, look: Pick<OutboundPart, 'body' | 'plain' | 'buttons'>): Promise<void> {
    const known = this.#sent[index];
    if (known === undefined)
      return await this.#send(index, (place) => this.#options.channel.send({ ...place, ...look }));
    const part = this.#part(index, look);
    const isRight = this.#options.shown[index] === part.body.text && part.buttons.length === 0;
    if (!isRight) await this.#edit(index, known, part);
  }

  async #send(index: number, send: (place: PartPlace) => Promise<SentMessage> | undefined): Promise<void> {
    const { final, noteSent } = this.#options;
    const place = this.#partPlace(index);
    const sent = await final(this.#target, async () => send(place));
    if (sent === undefined) return;
    this.#sent.push(sent);
    await noteSent(this.sent);
  }

  /** A channel that cannot edit shows its parts as they were sent. */
  async #edit(index: number, known: SentMessage, part: OutboundPart): Promise<void> {
    const { channel, final } = this.#options;
    if (channel.edit === undefined) return;
    const sent = await final(this.#target, async () => channel.edit?.(known, part));
    if (sent === undefined || sent === known) return;
    this.#sent[index] = sent;
    await this.#options.noteSent(this.sent);
  }

  /** Copy buttons are left out if the channel does not support them. */
  get #buttons(): Button[] {
    const { channel, message } = this.#options;
    return channel.capabilities.copyButtons === true
      ? message.buttons
      : message.buttons.filter(({ copy }) => copy === undefined);
  }

  get #target(): CallTarget {
    return { place: this.#place, first: this.#sent[0] };
  }

  #part(index: number, look: Pick<OutboundPart, 'body' | 'plain' | 'buttons'>): OutboundPart {
    return { ...this.#partPlace(index), ...look };
  }

  #partPlace(index: number): PartPlace {
    const ref = this.#recovered.gone ? `${this.#options.ref}:again:` : this.#options.ref;
    return {
      ...this.#place,
      replyTo: index === 0 ? this.#replyTo : undefined,
      onlyFor: this.#options.message.onlyFor,
      repliesHidden: this.#options.message.repliesHidden,
      after: this.#sent[index - 1] ?? this.#options.after,
      nonce: nonceOf(ref, index),
    };
  }

  /** Changes what the platform refused; false if that is impossible, or was tried before. */
  #recover(error: ChannelError, index: number, plain: boolean): boolean {
    switch (error.code) {
      case 'bad_markup':
      case 'rejected':
        // What is refused as it is may be accepted as plain text; a refused edit may be accepted as a new message. If the
        // platform knows the nonce of a send, that send was an edit, too: of a message from an earlier process.
        return !plain || this.#startAnew(index);
      case 'place_gone':
        return this.#leavePlace();
      case 'message_gone':
        return this.#startAnew(index);
      case 'chat_moved':
        return this.#move(error.movedTo, index);
      default:
        return false;
    }
  }

  /** The thread or the message replied to is gone: answers in the chat itself. */
  #leavePlace(): boolean {
    const first = !this.#recovered.place;
    this.#recovered.place = true;
    this.#place = { channel: this.#place.channel, chatId: this.#place.chatId };
    this.#replyTo = undefined;
    return first;
  }

  /** The message is gone, or accepts no edit: this part and all later ones are sent as new messages. */
  #startAnew(index: number): boolean {
    const first = !this.#recovered.gone;
    this.#recovered.gone = true;
    if (first) this.#abandoned = this.#sent.splice(index);
    return first;
  }

  /** Existing messages stay in the old chat, and their ids do not apply in the new one; nor do its threads. */
  #move(to: string | undefined, index: number): boolean {
    if (to === undefined || this.#recovered.moved) return false;
    this.#recovered.moved = true;
    this.#options.onChatMoved({ channel: this.#place.channel, from: this.#place.chatId, to });
    this.#place = { channel: this.#place.channel, chatId: to };
    this.#replyTo = undefined;
    this.#sent.splice(index);
    return true;
  }
}

/** True for a refusal of the text, not of its place. */
function isRefusedAsIs(error: unknown): boolean {
  return error instanceof ChannelError && (error.code === 'bad_markup' || error.code === 'rejected');
}
