/** Sends or edits the parts of one final answer, each exactly once, and works around refusals of the platform. */
import type { Channel, OutboundFile, OutboundPart, Rendered } from '../../protocol/channel.ts';
import { ChannelError, toGatewayError } from '../../protocol/errors.ts';
import type { Button, OutboundMessage, Place, SentMessage } from '../../protocol/message.ts';
import { type LaneHead, waitNotedAfterMs } from '../../protocol/store/lanes.ts';
import type { DeliveryPayload } from '../../protocol/store/ledger.ts';
import type { Say } from '../../protocol/texts/say.ts';
import { DelayedFlag } from '../../lib/async/delayed-flag.ts';
import type { DeliveryContext } from '../context.ts';
import type { CallTarget, Scheduler } from '../rate/scheduler.ts';
import { nonceOf } from './part-notes.ts';

/** What the steps of one delivery share. */
export interface Delivering {
  context: DeliveryContext;
  head: LaneHead;
  payload: DeliveryPayload;
  channel: Channel;
  say: Say;
  partsOf: (parts: Parts) => PartDelivery;
  split: (markdown: string) => Promise<Rendered[]>;
  /** The text of a message that is no longer needed and cannot be deleted. */
  blank: Rendered;
}

/** The messages that show `ref`. */
export interface Parts {
  ref: string;
  messages: SentMessage[];
  /** The place, the buttons and the message that is replied to. */
  message: OutboundMessage;
  /** Texts that `messages` are certain to show; undefined where unknown. */
  shownTexts?: readonly (string | undefined)[];
  /** The message on screen before the first part. */
  after?: SentMessage | undefined;
}

interface Look {
  body: Rendered;
  plain: boolean;
  buttons: Button[];
}

/** Where a part is sent, and what identifies it as the same part at each attempt. */
type PartPlace = Omit<OutboundPart, keyof Look>;

interface Recovered {
  moved: boolean;
  place: boolean;
  gone: boolean;
}

/** A file to show: the fields that do not depend on the place. */
export type FilePart = Omit<OutboundFile, keyof PartPlace>;

export class PartDelivery {
  readonly #context: DeliveryContext;
  readonly #head: LaneHead;
  readonly #channel: Channel;
  readonly #final: FinalCall;
  readonly #parts: Parts;
  readonly #recovered: Recovered = { moved: false, place: false, gone: false };
  #place: Place;
  #replyTo: string | undefined;
  #messages: SentMessage[];
  /** Messages that accepted no edit, and show a part of the answer in addition to the new one. */
  #abandoned: SentMessage[] = [];

  constructor(context: DeliveryContext, head: LaneHead, channel: Channel, final: FinalCall, parts: Parts) {
    const { channel: name, chatId, threadId, replyTo } = parts.message;
    this.#context = context;
    this.#head = head;
    this.#channel = channel;
    this.#final = final;
    this.#parts = parts;
    this.#place = { channel: name, chatId, threadId };
    this.#replyTo = replyTo;
    // What they showed while growing no longer matters.
    this.#messages = parts.messages.map(({ shows: _shows, ...message }) => message);
  }

  get messages(): SentMessage[] {
    return [...this.#messages];
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

  has(index: number): boolean {
    return this.#messages[index] !== undefined;
  }

  /** Sends a file as the part after those on screen, and stores its id. Throws `ChannelError`, `StoreError`. */
  async putFile(index: number, file: FilePart): Promise<void> {
    for (;;) {
      try {
        return await this.#send(index, (place) => this.#channel.sendFile?.({ ...place, ...file }));
      } catch (error) {
        const isPlace =
          error instanceof ChannelError && (error.code === 'place_gone' || error.code === 'chat_moved');
        if (!isPlace || !this.#recover(error, index, true)) throw error;
      }
    }
  }

  /** Replaces the text of a message that is no longer needed, if it still exists. Throws `ChannelError`. */
  async replace(index: number, body: Rendered): Promise<void> {
    const message = this.#messages[index];
    if (message === undefined) return;
    try {
      await this.#edit(index, message, this.#part(index, { body, plain: false, buttons: [] }));
    } catch (error) {
      if (!(error instanceof ChannelError) || error.code !== 'message_gone') throw error;
    }
  }

  /**
   * Deletes the messages from `index` on, last first, and those that accepted no edit; those that the platform keeps
   * show `blank`. A permanent refusal is only logged, because the answer is on screen. Throws `ChannelError`,
   * `StoreError` for a retry.
   */
  async takeAway(index: number, blank: Rendered): Promise<void> {
    for (const surplus of [...this.#messages.slice(index).toReversed(), ...this.#abandoned.splice(0)]) {
      try {
        if (await this.#delete(surplus))
          this.#messages = this.#messages.filter((message) => message !== surplus);
        else await this.replace(this.#messages.indexOf(surplus), blank);
      } catch (error) {
        if (!(error instanceof ChannelError) || error.retryable) throw error;
        const { channel, chatId } = this.#place;
        this.#context.log.warn(
          { err: error, channel, chatId, ref: this.#parts.ref, messageId: surplus.id },
          'surplus_message_not_deleted',
        );
      }
    }
  }

  /**
   * Deletes messages left by lost sends. Each is first edited to show `blank`, which works only for the bot's own
   * messages. Throws `ChannelError`, `StoreError` for a retry.
   */
  async takeCopies(blank: Rendered): Promise<void> {
    const { lostSends } = this.#channel;
    if (lostSends === undefined) return;
    for (const [index, message] of this.#messages.entries()) {
      const nonce = nonceOf(this.#parts.ref, index);
      const copies = lostSends.copiesOf(nonce, message);
      const ids = copies.map(({ id }) => id);
      const deliveredIds = copies.length === 0 ? [] : await this.#context.ledger.sentAmong(ids);
      for (const copy of copies)
        if (!deliveredIds.includes(copy.id)) await this.#takeCopy(index, copy, blank);
      lostSends.forgetNonce(nonce);
    }
  }

  async #takeCopy(index: number, copy: SentMessage, blank: Rendered): Promise<void> {
    const part = this.#part(index, { body: blank, plain: false, buttons: [] });
    try {
      await this.#final(this.#target, async () => this.#channel.edit?.(copy, part));
      await this.#delete(copy);
      const { channel, chatId } = part;
      this.#context.log.info({ channel, chatId, ref: this.#parts.ref, messageId: copy.id }, 'copy_removed');
    } catch (error) {
      // Usually it belongs to someone else, or to another chat: there was nothing to delete.
      if (!(error instanceof ChannelError) || error.retryable) throw error;
    }
  }

  /** False for a message that cannot be deleted: the channel cannot, or the platform keeps this one. */
  async #delete(surplus: SentMessage): Promise<boolean> {
    if (this.#channel.delete === undefined) return false;
    try {
      const place = this.#place;
      await this.#final(this.#target, async () => this.#channel.delete?.(surplus, place));
      return true;
    } catch (error) {
      if (error instanceof ChannelError && error.code === 'rejected') return false;
      throw error;
    }
  }

  async #show(index: number, look: Look): Promise<void> {
    const message = this.#messages[index];
    if (message === undefined)
      return await this.#send(index, (place) => this.#channel.send({ ...place, ...look }));
    const isRight = this.#parts.shownTexts?.[index] === look.body.text && look.buttons.length === 0;
    if (!isRight) await this.#edit(index, message, this.#part(index, look));
  }

  async #send(index: number, send: (place: PartPlace) => Promise<SentMessage> | undefined): Promise<void> {
    const place = this.#partPlace(index);
    const message = await this.#final(this.#target, async () => send(place));
    if (message === undefined) return;
    this.#messages.push(message);
    await this.#note();
  }

  /** A channel that cannot edit shows its parts as they were sent. */
  async #edit(index: number, message: SentMessage, part: OutboundPart): Promise<void> {
    if (this.#channel.edit === undefined) return;
    const updated = await this.#final(this.#target, async () => this.#channel.edit?.(message, part));
    if (updated === undefined || updated === message) return;
    this.#messages[index] = updated;
    await this.#note();
  }

  async #note(): Promise<void> {
    const { notes, ledger } = this.#context;
    const { message, ref } = this.#parts;
    await notes.save(message, ref, this.messages, (of, messages) =>
      ledger.noteSent(this.#head, of, messages),
    );
  }

  /** Buttons that copy or open a form are left out if the channel does not support them. */
  get #buttons(): Button[] {
    const { copyButtons: copies = false, forms = false } = this.#channel.capabilities;
    return this.#parts.message.buttons.filter(
      ({ copy, form }) => (copies || copy === undefined) && (forms || form !== true),
    );
  }

  get #target(): CallTarget {
    return { place: this.#place, first: this.#messages[0] };
  }

  #part(index: number, look: Look): OutboundPart {
    return { ...this.#partPlace(index), ...look };
  }

  #partPlace(index: number): PartPlace {
    const { ref, message, after: previous } = this.#parts;
    return {
      ...this.#place,
      replyTo: index === 0 ? this.#replyTo : undefined,
      onlyFor: message.onlyFor,
      repliesHidden: message.repliesHidden,
      after: this.#messages[index - 1] ?? previous,
      isAnswer: message.asked === true && message.isError !== true,
      nonce: nonceOf(this.#recovered.gone ? `${ref}:again:` : ref, index),
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
    if (first) this.#abandoned = this.#messages.splice(index);
    return first;
  }

  /** Existing messages stay in the old chat, and their ids do not apply in the new one; nor do its threads. */
  #move(to: string | undefined, index: number): boolean {
    if (to === undefined || this.#recovered.moved) return false;
    this.#recovered.moved = true;
    const move = { channel: this.#place.channel, from: this.#place.chatId, to };
    this.#context.followMigration(move).catch((error: unknown) => {
      this.#context.log.warn({ err: toGatewayError(error), ...move }, 'chat_migration_failed');
    });
    this.#place = { channel: this.#place.channel, chatId: to };
    this.#replyTo = undefined;
    this.#messages.splice(index);
    return true;
  }
}

/** True if the platform refuses this text but might accept another. */
export function isRefusal(error: unknown): error is ChannelError {
  const codes = ['rejected', 'bad_markup', 'message_gone', 'place_gone'];
  return error instanceof ChannelError && codes.includes(error.code);
}

/** True for a refusal of the text, not of its place. */
function isRefusedAsIs(error: unknown): boolean {
  return error instanceof ChannelError && (error.code === 'bad_markup' || error.code === 'rejected');
}

/** Makes a call that must happen, like `Scheduler.final`. Throws the errors of that, `FencedError`, `StoreError`. */
type FinalCall = <T>(target: CallTarget, call: () => Promise<T>) => Promise<T>;

/**
 * The calls of the delivery `head`. Its lane records a long wait, and any wait of a suspect: a crash meanwhile has
 * another cause, and other suspects can run.
 */
export function finalCalls(
  { lanes, clock, log }: DeliveryContext,
  scheduler: Scheduler,
  head: LaneHead,
  signal: AbortSignal,
): FinalCall {
  const waits = new DelayedFlag({
    clock,
    afterMs: waitNotedAfterMs(head),
    write: (isWaiting) => lanes.noteWaiting(head, isWaiting),
    onFailed: (error) => log.info({ lane: head.lane, err: toGatewayError(error) }, 'waiting_not_noted'),
  });
  return async (target, call) => {
    const working = async () => {
      await waits.end();
      try {
        return await call();
      } catch (error) {
        if (error instanceof ChannelError && error.code === 'rate_limited') waits.begin();
        throw error;
      }
    };
    waits.begin();
    try {
      return await scheduler.final(target, working, signal);
    } finally {
      await waits.end();
    }
  };
}
