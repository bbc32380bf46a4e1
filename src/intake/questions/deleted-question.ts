/** Messages that are deleted on their platform: questions that still wait are taken back, observed messages forgotten. */
import type { EventBus, MessageBus } from '../../protocol/bus.ts';
import type { Log } from '../../protocol/log.ts';
import type { GroupChatStore, NoteDeleted, QuestionStore } from '../../protocol/store/group-chats.ts';
import type { WaitingStore } from '../../protocol/sessions/conversation-api.ts';

export interface DeletedDeps {
  questions: Pick<QuestionStore, 'unansweredQuestions'>;
  groupChats: Pick<GroupChatStore, 'removeObserved'>;
  waiting: Pick<WaitingStore, 'dropWaiting'>;
  bus: Pick<MessageBus, 'sweepSoon'>;
  events: Pick<EventBus, 'emit'>;
  log: Log;
}

/** Makes the handler: what the page does when a person drops a waiting message there. A turn that has begun goes on. */
export function createNoteDeleted(deps: DeletedDeps): NoteDeleted {
  const { questions, groupChats, waiting, bus, events, log } = deps;
  return async (deleted) => {
    await groupChats.removeObserved(deleted, deleted.messageIds);
    for (const { session, turnId } of await questions.unansweredQuestions(deleted)) {
      if ((await waiting.dropWaiting(session, turnId)) === 'begun') continue;
      log.info({ sessionKey: session, turnId }, 'message_deleted');
      events.emit(session, { type: 'queue_changed' });
      bus.sweepSoon();
    }
  };
}
