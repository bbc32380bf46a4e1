/** Acts on the updates of a batch that are not messages. */
import { toGatewayError } from '../../../src/protocol/errors.ts';
import type { Log } from '../../../src/protocol/log.ts';
import { addressOf, type FollowChatMigration, type NoteMembership } from '../../../src/protocol/message.ts';
import type { NoteRefusal } from '../../../src/protocol/store/traces.ts';
import type { Inbound, TopicNews } from './inbound-kinds.ts';
import type { PendingMessage } from './publishing.ts';

/** Dependencies of `Updates`. */
export interface UpdatesParts {
  /** Called with a group's new id; its messages are published only afterwards. */
  chatMoved: FollowChatMigration;
  /** Called when the bot joins a chat or can no longer write there. */
  membershipChanged: NoteMembership;
  /** Called for a topic that a person has opened or named. Never throws. */
  noteTopic: (topic: TopicNews) => Promise<void>;
  /** Counts messages that are not handed over. */
  noteRefusal: NoteRefusal;
  /** Stops the spinner of a press that had no effect. Never throws. */
  answerPress: (callbackId: string, text: string | undefined) => Promise<void>;
  log: Log;
}

/** An update that was read, with its id; -1 if it has none. */
export interface ReadUpdate {
  id: number;
  inbound: Inbound;
}

export class Updates {
  readonly #parts: UpdatesParts;

  constructor(parts: UpdatesParts) {
    this.#parts = parts;
  }

  /**
   * Acts on what is not a message, in the order of the batch, before any of its messages is published. Throws
   * `GatewayError` while the store is unavailable, to be retried.
   */
  async act(batch: readonly ReadUpdate[]): Promise<void> {
    for (const [index, { id, inbound }] of batch.entries()) {
      switch (inbound.kind) {
        case 'moved':
          await this.#try('chat_migration_failed', () => this.#follow(inbound));
          break;
        case 'membership':
          if (!isSuperseded(batch.slice(index + 1), inbound))
            await this.#try('membership_failed', () => this.#parts.membershipChanged(inbound.change));
          break;
        case 'topic':
          await this.#parts.noteTopic(inbound.topic);
          break;
        case 'ignored':
          this.#noteIgnored(id, inbound);
          break;
        case 'button':
          if (inbound.message === undefined) void this.#parts.answerPress(inbound.callbackId, undefined);
          break;
        case 'message':
          break;
        default:
          inbound satisfies never;
      }
    }
  }

  async #follow({ from, to }: Extract<Inbound, { kind: 'moved' }>): Promise<void> {
    await this.#parts.chatMoved({ channel: 'telegram', from, to });
  }

  /** Throws temporary failures, to be retried; any other failure is logged and must not stop receiving. */
  async #try(event: string, act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      const failure = toGatewayError(error);
      if (failure.retryable) throw failure;
      this.#parts.log.error({ err: failure }, event);
    }
  }

  #noteIgnored(updateId: number, { why, from }: Extract<Inbound, { kind: 'ignored' }>): void {
    this.#parts.log.debug({ updateId, why }, 'telegram_update_ignored');
    if (from === undefined) return;
    const { senderId, ...place } = from;
    const address = addressOf({ channel: 'telegram', ...place });
    this.#parts.noteRefusal({ address, senderId, code: 'ignored', detail: why });
  }
}

/** The messages of a batch, in their order. */
export function messagesOf(batch: readonly ReadUpdate[]): PendingMessage[] {
  return batch.flatMap(({ id, inbound }): PendingMessage[] => {
    if (inbound.kind === 'button' && inbound.message !== undefined)
      return [{ id, message: inbound.message, callbackId: inbound.callbackId }];
    return inbound.kind === 'message' ? [{ ...inbound, id }] : [];
  });
}

/** A batch may arrive twice: someone may have added the bot again and written since, and that must not be stopped. */
function isSuperseded(
  later: readonly ReadUpdate[],
  { change }: Extract<Inbound, { kind: 'membership' }>,
): boolean {
  return later.some(
    ({ inbound }) => inbound.kind === 'membership' && inbound.change.chatId === change.chatId,
  );
}

/** The id of an update of any shape; -1 moves no offset. */
export function updateIdOf(update: unknown): number {
  if (typeof update !== 'object' || update === null || !('update_id' in update)) return -1;
  return Number.isSafeInteger(update.update_id) ? Number(update.update_id) : -1;
}
