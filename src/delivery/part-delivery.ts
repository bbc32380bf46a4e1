/** Sends or edits the parts of one final answer, each exactly once, and works around refusals of the platform. */
import type { Channel, OutboundPart, Rendered } from '../contracts/channel.ts';
import { ChannelError } from '../contracts/errors.ts';
import type { OutboundMessage, Place, SentMessage } from '../contracts/message.ts';
import type { ChatMigration } from '../contracts/message.ts';
import { nonceOf } from './nonce.ts';
import type { Scheduler } from './scheduler.ts';

export interface PartDeliveryOptions {
  channel: Channel;
  scheduler: Scheduler;
  signal: AbortSignal;
  message: OutboundMessage;
  ref: string;
  /** Parts on screen already. */
  known: SentMessage[];
  /** Texts they are certain to show; undefined where that is not known. */
  shown: readonly (string | undefined)[];
  noteSent: (sent: SentMessage[]) => Promise<void>;
  onChatMoved: (move: ChatMigration) => void;
}

/** Recoveries that are tried once in a delivery. */
interface Recovered {
  moved: boolean;
  place: boolean;
  gone: boolean;
}

export class PartDelivery {
  readonly #options: PartDeliveryOptions;
  readonly #recovered: Recovered = { moved: false, place: false, gone: false };
  #place: Place;
  #replyTo: string | undefined;
  #sent: SentMessage[];
  /** Index of the part that the growing reply may already have sent under the same nonce, its answer lost. */
  readonly #doubtful: number;

  constructor(options: PartDeliveryOptions) {
    const { channel, chatId, threadId, replyTo } = options.message;
    this.#options = options;
    this.#place = { channel, chatId, threadId };
    this.#replyTo = replyTo;
    this.#sent = [...options.known];
    this.#doubtful = options.message.turnId === undefined ? -1 : options.known.length;
  }

  /** The ids of all parts on screen. */
  get sent(): SentMessage[] {
    return [...this.#sent];
  }

  /** Shows one part: edits the message that is there, else sends it and stores its id. Throws `ChannelError`, `StoreError`. */
  async put(index: number, body: Rendered, isLast: boolean): Promise<void> {
    let plain = false;
    for (;;) {
      try {
        await this.#show(index, { body, plain, buttons: isLast ? this.#options.message.buttons : [] });
        return;
      } catch (error) {
        if (!(error instanceof ChannelError) || !this.#recover(error, index, plain)) throw error;
        plain ||= error.code === 'bad_markup';
      }
    }
  }

  /** Replaces the text of a message that is no longer needed; one that is already gone is no error. Throws `ChannelError`. */
  async replace(index: number, body: Rendered): Promise<void> {
    const known = this.#sent[index];
    if (known === undefined) return;
    try {
      await this.#edit(known, this.#part(index, { body, plain: false, buttons: [] }));
    } catch (error) {
      if (!(error instanceof ChannelError) || error.code !== 'message_gone') throw error;
    }
  }

  async #show(index: number, look: Pick<OutboundPart, 'body' | 'plain' | 'buttons'>): Promise<void> {
    const { channel, scheduler, signal } = this.#options;
    const part = this.#part(index, look);
    const known = this.#sent[index];
    if (known !== undefined) {
      const isRight = this.#options.shown[index] === part.body.text && part.buttons.length === 0;
      if (!isRight) await this.#edit(known, part);
      return;
    }
    const sent = await scheduler.final(this.#place.chatId, () => channel.send(part), signal);
    this.#sent.push(sent);
    await this.#options.noteSent(this.sent);
    // A platform that knows the nonce answers with the message as it was first sent: edit it to the final text.
    if (index === this.#doubtful && !this.#recovered.gone) await this.#edit(sent, part);
  }

  /** A channel that cannot edit shows its parts as they were sent. */
  async #edit(known: SentMessage, part: OutboundPart): Promise<void> {
    const { channel, scheduler, signal } = this.#options;
    if (channel.edit === undefined) return;
    await scheduler.final(this.#place.chatId, async () => channel.edit?.(known, part), signal);
  }

  #part(index: number, look: Pick<OutboundPart, 'body' | 'plain' | 'buttons'>): OutboundPart {
    const ref = this.#recovered.gone ? `${this.#options.ref}:again:` : this.#options.ref;
    return {
      ...this.#place,
      ...look,
      replyTo: index === 0 ? this.#replyTo : undefined,
      nonce: nonceOf(ref, index),
    };
  }

  /** Changes what the platform refused; false when that is impossible, or was tried before. */
  #recover(error: ChannelError, index: number, plain: boolean): boolean {
    switch (error.code) {
      case 'bad_markup':
        return !plain;
      case 'place_gone':
        return this.#leavePlace();
      case 'message_gone':
        return this.#startAnew(index);
      case 'chat_moved':
        return this.#move(error.movedTo);
      default:
        return false;
    }
  }

  /** The thread or the message replied to is gone: answer in the chat itself. */
  #leavePlace(): boolean {
    const first = !this.#recovered.place;
    this.#recovered.place = true;
    this.#place = { channel: this.#place.channel, chatId: this.#place.chatId };
    this.#replyTo = undefined;
    return first;
  }

  /** The message is gone: this part and all after it are sent as new ones. */
  #startAnew(index: number): boolean {
    const first = !this.#recovered.gone;
    this.#recovered.gone = true;
    this.#sent = this.#sent.slice(0, index);
    return first;
  }

  #move(to: string | undefined): boolean {
    if (to === undefined || this.#recovered.moved) return false;
    this.#recovered.moved = true;
    this.#options.onChatMoved({ channel: this.#place.channel, from: this.#place.chatId, to });
    this.#place = { ...this.#place, chatId: to };
    return true;
  }
}
