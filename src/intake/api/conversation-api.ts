/** What people do with a conversation besides writing in it, behind the same owner check as the sessions. */
import type { IntakeContext } from '../context.ts';
import type { FileStorage } from './file-api.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { SessionKey } from '../../protocol/message.ts';
import type {
  ConversationApi,
  WaitingChange,
  WaitingQueue,
} from '../../protocol/sessions/conversation-api.ts';
import { type Question, RETRY_REFUSALS, type RetryRefusal } from '../../protocol/store/records.ts';
import type { Caller } from '../../protocol/access.ts';
import { MAX_MESSAGE_LENGTH } from '../receive.ts';
import { forkSession } from './fork-session.ts';
import { checkedChoice, sessionChoices, sessionModel } from './new-session.ts';
import type { Visible } from '../sessions.ts';
import { undo } from '../undo/command.ts';
import { wordUndo } from '../undo/describe-undo.ts';

/** Makes the API. `visible` returns a session that the caller may see. */
export function createConversationApi(
  context: IntakeContext,
  storage: FileStorage,
  visible: Visible,
): ConversationApi {
  const { tries, contexts, waiting: waitingStore } = context.store;
  const announced = (key: SessionKey, outcome: Question | RetryRefusal): Question => {
    const question = changed(outcome);
    context.events.emit(key, { type: 'context_changed' });
    return question;
  };
  return {
    async fork(caller, key, fork) {
      const source = await visible(caller, key);
      return source && (await forkSession(context, storage, caller, source, fork));
    },
    async lastQuestion(caller, key) {
      return (await visible(caller, key)) && changed((await tries.lastQuestion(key)) ?? 'nothing');
    },
    async previewUndo(caller, key, say, turnId) {
      return (await visible(caller, key)) && wordUndo(await context.undoing.preview(key, turnId), say);
    },
    async undo(caller, key, say, turnId) {
      if ((await visible(caller, key)) === undefined) return undefined;
      const undone = turnId ?? (await context.undoing.preview(key)).turnId;
      return wordUndo(await undo(context, key, undone), say);
    },
    async resets(caller, key, span) {
      return (await visible(caller, key)) && (await contexts.resets(key, span));
    },
    async queue(caller, key) {
      return (await visible(caller, key)) && (await waitingStore.waiting(key));
    },
    async changeWaiting(caller, key, turnId, act) {
      return (await visible(caller, key)) && (await changeWaiting(context, caller, key, turnId, act));
    },
    async model(caller, key) {
      const session = await visible(caller, key);
      if (!session) return undefined;
      const [model, contextUse] = await Promise.all([sessionModel(context, session), contexts.use(key)]);
      return { ...model, contextUse };
    },
    choices: (caller, profileId, say) => sessionChoices(context, caller, profileId, say),
    checkChoice: (caller, choice) => checkedChoice(context, caller, choice),
    async choose(caller, key, turnId) {
      return (await visible(caller, key)) && announced(key, await tries.choose(key, turnId));
    },
  };
}

/** Throws `GatewayError('not_changed')` with the reason as text. */
function changed(outcome: Question | RetryRefusal): Question {
  if (typeof outcome !== 'string') return outcome;
  throw new GatewayError('not_changed', RETRY_REFUSALS[outcome]);
}

/** `ConversationApi.changeWaiting` for a session that the caller may see. */
async function changeWaiting(
  context: IntakeContext,
  caller: Caller,
  key: SessionKey,
  turnId: string,
  act: Parameters<ConversationApi['changeWaiting']>[3],
): Promise<WaitingQueue> {
  if ((await applyWaitingChange(context, caller, key, turnId, act)) === 'begun') throw notWaiting();
  context.events.emit(key, { type: 'queue_changed' });
  if (act.do === 'send_now') context.bus.notifyStop(`in:${key}`);
  context.bus.sweepSoon();
  return await context.store.waiting.waiting(key);
}

async function applyWaitingChange(
  { store: { waiting: waitingStore } }: IntakeContext,
  caller: Caller,
  key: SessionKey,
  turnId: string,
  act: Parameters<ConversationApi['changeWaiting']>[3],
): Promise<WaitingChange> {
  if (act.do === 'drop') return await waitingStore.dropWaiting(key, turnId);
  if (act.do === 'send_now') return await waitingStore.sendWaitingNow(key, turnId);
  const { content } = act;
  checkContent(content);
  const senderId = `token:${caller.tokenId}`;
  const queued = (await waitingStore.waiting(key)).messages.find((message) => message.turnId === turnId);
  if (queued === undefined) return 'begun';
  if (!queued.isEditable || queued.senderId !== senderId) {
    const text =
      'Only the person who wrote a message can change it, and not one that was forwarded or runs a plan.';
    throw new GatewayError('not_editable', text);
  }
  return await waitingStore.editWaiting(key, turnId, { content, senderId });
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
    'This message is no longer waiting: its answer has started, or it was dropped.',
  );
}
