/** Messages that people delete on a platform that reports this. */
import type { Place } from '../message.ts';

/** Messages that were deleted on their platform. */
export interface DeletedMessages extends Pick<Place, 'channel'> {
  /** The chat or thread in which they were. */
  chatId: string;
  /** As in `InboundMessage.messageId`. */
  messageIds: readonly string[];
}

/**
 * Takes back the questions among them whose turns have not begun, and forgets what was only observed; others stay. The same deletion twice acts once. Throws
 * only `StoreError`.
 */
export type NoteDeleted = (deleted: DeletedMessages) => Promise<void>;
