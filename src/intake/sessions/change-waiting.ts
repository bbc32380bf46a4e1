/** Changes to waiting messages, at people's request. */
import type { Caller } from '../../contracts/access.ts';
import type { EventBus, MessageBus } from '../../contracts/bus.ts';
import { GatewayError } from '../../contracts/errors.ts';
import type { SessionKey } from '../../contracts/message.ts';
import type { ConversationApi } from '../../contracts/sessions/conversation-api.ts';
import type { WaitingChange, WaitingQueue, WaitingStore } from '../../contracts/sessions/waiting.ts';
import { MAX_MESSAGE_LENGTH } from '../receive.ts';

export interface WaitingDeps {
  waiting: WaitingStore;
  bus: Pick<MessageBus, 'notifyStop' | 'sweepSoon'>;
  events: Pick<EventBus, 'emit'>;
}

/** `ConversationApi.changeWaiting` for a session that the caller may see. */
export async function changeWaiting(
  deps: WaitingDeps,
  caller: Caller,
  key: SessionKey,
  turnId: string,
  act: Parameters<ConversationApi['changeWaiting']>[3],
): Promise<WaitingQueue> {
  if ((await applyWaitingChange(deps, caller, key, turnId, act)) === 'begun') throw notWaiting();
  deps.events.emit(key, { type: 'queue_changed' });
  if (act.do === 'send_now') deps.bus.notifyStop(`in:${key}`);
  deps.bus.sweepSoon();
  return await deps.waiting.waiting(key);
}

async function applyWaitingChange(
  { waiting }: WaitingDeps,
  caller: Caller,
  key: SessionKey,
  turnId: string,
  act: Parameters<ConversationApi['changeWaiting']>[3],
): Promise<WaitingChange> {
  if (act.do === 'drop') return await waiting.dropWaiting(key, turnId);
  if (act.do === 'send_now') return await waiting.sendWaitingNow(key, turnId);
  const { content } = act;
  checkContent(content);
  const senderId = `token:${caller.tokenId}`;
  const found = (await waiting.waiting(key)).messages.find((message) => message.turnId === turnId);
  if (found === undefined) return 'begun';
  if (!found.isEditable || found.senderId !== senderId) {
    const text =
      'Only the person who wrote a message can change it, and not one that was forwarded or runs a plan.';
    throw new GatewayError('not_editable', text);
  }
  return await waiting.editWaiting(key, turnId, { content, senderId });
}

/** As for a new message. */
function checkContent(content: string): void {
  if (content.trim() === '')
    throw new GatewayError('empty_message', 'A message needs text: drop it instead.');
  if (content.length <= MAX_MESSAGE_LENGTH) return;
  const text = `That message is too long: I accept up to ${MAX_MESSAGE_LENGTH} characters.`;
  throw new GatewayError('message_too_large', text);
}

function notWaiting(): GatewayError {
  return new GatewayError(
    'not_waiting',
    'This message is no longer waiting: its answer has begun, or it was dropped.',
  );
}
