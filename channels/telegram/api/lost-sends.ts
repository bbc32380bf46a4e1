/**
 * Sends whose answers were lost: works out which ids their messages may have once a later message of the chat is
 * known.
 */
import type { LostSends } from '../../../src/protocol/channel.ts';
import type { SentMessage } from '../../../src/protocol/message.ts';

/** Maximum number of lost sends remembered; whatever the oldest one left then stays on screen. */
export const MAX_LOST = 500;
/** Maximum number of message ids remembered, over all chats. */
const MAX_SEEN = 5_000;
/** Ids that one lost send may have: the first unknown ones after it. */
export const MAX_COPIES = 8;

/** Supergroups and channels number their messages individually; all other chats of a bot share one numbering. */
const numberingOf = (chatId: string): string => (chatId.startsWith('-100') ? chatId : 'shared');

interface Lost {
  chatId: string;
  /** The newest message when it was sent; undefined = none was known. */
  after: number | undefined;
}

/** What is known about message numbers from what this process has sent and received. */
export class TelegramLostSends implements LostSends {
  readonly #newest = new Map<string, number>();
  readonly #seen = new Set<string>();
  readonly #lost = new Map<string, Lost>();

  /** Records that a message has this id. */
  note(chatId: string, messageId: string): void {
    const id = Number(messageId);
    if (!Number.isSafeInteger(id)) return;
    const numbering = numberingOf(chatId);
    this.#newest.set(numbering, Math.max(id, this.#newest.get(numbering) ?? 0));
    this.#seen.add(`${numbering} ${id}`);
    forgetOldest(this.#seen, MAX_SEEN);
    // There are as many numberings as groups.
    forgetOldest(this.#newest, MAX_SEEN);
  }

  /** Anything sent to the chat from now on has a higher id. */
  newest(chatId: string): number | undefined {
    return this.#newest.get(numberingOf(chatId));
  }

  /**
   * The answer to a send was lost; `after` is what `newest` returned before it. Only the first loss of a nonce
   * counts.
   */
  add(nonce: string, lost: Lost): void {
    if (!this.#lost.has(nonce)) this.#lost.set(nonce, lost);
    forgetOldest(this.#lost, MAX_LOST);
  }

  copiesOf(nonce: string, sent: SentMessage): SentMessage[] {
    const lost = this.#lost.get(nonce);
    const before = Number(sent.id);
    if (lost === undefined || !Number.isSafeInteger(before)) return [];
    const numbering = numberingOf(lost.chatId);
    const copies: SentMessage[] = [];
    const first = Math.max(1, (lost.after ?? before - MAX_COPIES - 1) + 1);
    for (let id = first; id < before && copies.length < MAX_COPIES; id += 1)
      if (!this.#seen.has(`${numbering} ${id}`)) copies.push({ id: String(id) });
    return copies;
  }

  forgetNonce(nonce: string): void {
    this.#lost.delete(nonce);
  }
}

function forgetOldest(kept: Set<string> | Map<string, unknown>, most: number): void {
  const oldest = kept.keys().next().value;
  if (kept.size > most && oldest !== undefined) kept.delete(oldest);
}
