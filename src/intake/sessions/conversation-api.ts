/** What people do with a conversation besides writing in it, behind the same owner check as the sessions. */
import { GatewayError } from '../../contracts/errors.ts';
import type { SessionKey } from '../../contracts/message.ts';
import type { ConversationApi } from '../../contracts/sessions/conversation-api.ts';
import type { ContextStore } from '../../contracts/store/contexts.ts';
import { type Question, type TryStore, WHY_NOT, type WhyNot } from '../../contracts/sessions/tries.ts';
import { changeWaiting, type WaitingDeps } from './change-waiting.ts';
import { type ForkDeps, forkSession } from './fork-session.ts';
import { checkedChoice, type NewSessionDeps, sessionChoices } from './new-session.ts';
import { sessionModel, type SessionModelDeps } from './session-model.ts';
import type { Visible } from './ownership.ts';

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
