/** What people do with a conversation besides writing in it, behind the same owner check as the sessions. */
import { GatewayError } from '../../protocol/errors.ts';
import type { SessionKey } from '../../protocol/message.ts';
import type {
  ConversationApi,
  WaitingChange,
  WaitingQueue,
  WaitingStore,
} from '../../protocol/sessions/conversation-api.ts';
import type { ContextStore } from '../../protocol/store/accept.ts';
import { type Question, type TryStore, WHY_NOT, type WhyNot } from '../../protocol/store/records.ts';
import type { Caller } from '../../protocol/access.ts';
import type { EventBus, MessageBus } from '../../protocol/bus.ts';
import { MAX_MESSAGE_LENGTH } from '../receive.ts';
import { type ForkDeps, forkSession } from './fork-session.ts';
import { checkedChoice, type NewSessionDeps, sessionChoices } from './new-session.ts';
import { sessionModel, type SessionModelDeps } from './session-model.ts';
import type { Visible } from './ownership.ts';

/*** Changes to waiting messages, at people's request. */
interface WaitingDeps {
  waiting: WaitingStore;
  bus: Pick<MessageBus, 'notifyStop' | 'sweepSoon'>;
  events: Pick<EventBus, 'emit'>;
}

export type ConversationDeps = ForkDeps &
  WaitingDeps &
  SessionModelDeps &
  NewSessionDeps & { tries: TryStore; contexts: Pick<ContextStore, 'resets'> };

/** Makes the API. `visible` returns a session that the caller may see. */
export function createConversationApi(deps: ConversationDeps, visible: Visible): ConversationApi {
  const announced = (key: SessionKey, outcome: Question | WhyNot): Question => {
    const question = changed(outcome);
    deps.events.emit(key, { type: 'context_changed' });
    return question;
  };
  return {
    async fork(caller, key, asked) {
      const source = await visible(caller, key);
      return source && (await forkSession(deps, caller, source, asked));
    },
    async lastQuestion(caller, key) {
      return (await visible(caller, key)) && changed((await deps.tries.lastQuestion(key)) ?? 'nothing');
    },
    async undo(caller, key) {
      return (await visible(caller, key)) && announced(key, await deps.tries.undo(key));
    },
    async resets(caller, key, span) {
      return (await visible(caller, key)) && (await deps.contexts.resets(key, span));
    },
    async queue(caller, key) {
      return (await visible(caller, key)) && (await deps.waiting.waiting(key));
    },
    async changeWaiting(caller, key, turnId, act) {
      return (await visible(caller, key)) && (await changeWaiting(deps, caller, key, turnId, act));
    },
    async model(caller, key) {
      const session = await visible(caller, key);
      return session && (await sessionModel(deps, session));
    },
    choices: (caller, profileId, say) => sessionChoices(deps, caller, profileId, say),
    checkChoice: (caller, asked) => checkedChoice(deps, caller, asked),
    async choose(caller, key, turnId) {
      return (await visible(caller, key)) && announced(key, await deps.tries.choose(key, turnId));
    },
  };
}

/** Throws `GatewayError('not_changed')` with the reason as text. */
function changed(outcome: Question | WhyNot): Question {
  if (typeof outcome !== 'string') return outcome;
  throw new GatewayError('not_changed', WHY_NOT[outcome]);
}

/** `ConversationApi.changeWaiting` for a session that the caller may see. */
async function changeWaiting(
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
