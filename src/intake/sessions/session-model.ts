/** Who answers the next message of a session, and where that model was set. */
import type { BoundTo } from '../../protocol/command.ts';
import type { WhoAnswers } from '../../protocol/agent/provider.ts';
import type { SessionModel } from '../../protocol/sessions/conversation-api.ts';
import type { SessionRecord } from '../../protocol/store/records.ts';

export interface SessionModelDeps {
  models: {
    /** Throws `ProviderError`, `StoreError`. */
    usual(profileId: string | undefined): Promise<{ model: string; from: 'profile' | 'gateway' }>;
    /** Never throws. */
    whoAnswers(model: string): Promise<WhoAnswers>;
  };
  /** The binding of config.json for the sender in a chat, if any. */
  boundTo: BoundTo;
}

/** As for a message from someone without a binding of their own. Throws what `usual` throws. */
export async function sessionModel(
  { models, boundTo }: SessionModelDeps,
  { key, profileId: own, profileChosen, model }: SessionRecord,
): Promise<SessionModel> {
  const bound = profileChosen ? undefined : boundTo({ address: key, userId: '' });
  const profileId = bound?.profile ?? own;
  const named = await namedModel(model, bound?.model, () => models.usual(profileId));
  return { configured: named.model, from: named.from, profileId, ...(await models.whoAnswers(named.model)) };
}

async function namedModel(
  chosen: string | undefined,
  bound: string | undefined,
  usual: () => Promise<Pick<SessionModel, 'from'> & { model: string }>,
): Promise<Pick<SessionModel, 'from'> & { model: string }> {
  if (chosen !== undefined) return { model: chosen, from: 'session' };
  return bound === undefined ? await usual() : { model: bound, from: 'binding' };
}
