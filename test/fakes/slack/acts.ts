/** What people do on the fake Slack besides writing and pressing. */
import { shown } from './described.ts';
import type { FakeSlack } from './slack.ts';
import type { FakeChat, FakeMessage } from './workspace.ts';

/** Someone deletes a message; one with replies leaves a tombstone. */
export function deletes(slack: FakeSlack, chat: FakeChat, message: FakeMessage): void {
  const { ts } = message;
  const hasReplies = chat.messages.some(({ threadTs }) => threadTs === ts);
  chat.messages.splice(chat.messages.indexOf(message), 1);
  const before = { previous_message: shown(message), hidden: true, channel: chat.id };
  const left = { type: 'message', subtype: 'tombstone', text: 'This message was deleted.', ts };
  const what = hasReplies
    ? { subtype: 'message_changed', message: { ...left, user: 'USLACKBOT', thread_ts: ts } }
    : { subtype: 'message_deleted', deleted_ts: ts };
  slack.event({ type: 'message', ...what, ...before, ts: slack.workspace.newTs() });
}
