/** What may be chosen for a session before its first message creates it, and the check of that choice. */
import { type Caller, hasScope } from '../../protocol/access.ts';
import { type ErrorReader, GatewayError, ProviderError, readerOf, wordError } from '../../protocol/errors.ts';
import { mayUseProfile, planningOf, type Profile } from '../../protocol/agent/profile.ts';
import type { ConversationApi, SessionChoices } from '../../protocol/sessions/conversation-api.ts';
import type { SessionChoice, SessionStart } from '../../protocol/store/records.ts';
import { inEnglish } from '../../protocol/texts/say.ts';
import { checkChoice, type ChoiceDeps, choosable } from '../choice.ts';
import { checkedChange, type SessionChangeDeps } from './session-change.ts';
import type { SessionModelDeps } from './session-model.ts';

/** Longest time for the model servers to list their models, in milliseconds. */
const LIST_MS = 10_000;

export interface NewSessionDeps {
  profiles: () => readonly Pick<
    Profile,
    'id' | 'usableBy' | 'description' | 'planning' | 'planningEnabled'
  >[];
  models: SessionModelDeps['models'] &
    SessionChangeDeps['models'] & {
      /** Never throws. */
      describe(profileId: string | undefined, reader: ErrorReader): Promise<string>;
      /** `default`, the profile ids, then the models. Throws `ProviderError`. */
      list(signal: AbortSignal): Promise<string[]>;
    };
  ledger: { readonly newSessions: SessionStart };
}

/**
 * What the caller may choose; if no model server answers there is `problem` in place of models. Throws `StoreError`.
 */
export async function sessionChoices(
  deps: NewSessionDeps,
  caller: Caller,
  profileId: string | undefined,
  say = inEnglish,
): Promise<SessionChoices> {
  const owner = hasScope(caller, 'admin');
  const all = deps.profiles();
  const profiles = all
    .filter((profile) => mayUseProfile(profile, { owner, current: profileId ?? 'default' }))
    .map((profile) => ({
      id: profile.id,
      description: profile.description,
      plans: planningOf(profile) !== 'off',
    }));
  const { mode } = deps.ledger.newSessions;
  try {
    const usual = await deps.models.usual(profileId);
    const model = {
      configured: usual.model,
      ...(await deps.models.whoAnswers(usual.model)),
    };
    return {
      profiles,
      mode,
      model,
      models: await namesFor(deps, caller),
      problem: undefined,
    };
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    const problem = wordError(error, readerOf({ owner, place: 'private' }), say);
    return { profiles, mode, model: undefined, models: [], problem };
  }
}

/** The actual models among the names that the caller may choose. */
async function namesFor(deps: NewSessionDeps, caller: Caller): Promise<string[]> {
  const profiles = new Set(['default', ...deps.profiles().map(({ id }) => id)]);
  const names = await choosable(rulesOf(deps), caller, await deps.models.list(AbortSignal.timeout(LIST_MS)));
  return names.filter((name) => !profiles.has(name));
}

function rulesOf({ profiles, models }: NewSessionDeps): ChoiceDeps {
  return { profiles, defaultModel: (id) => models.describe(id, 'person') };
}

/** As `ConversationApi.checkChoice`. */
export async function checkedChoice(
  deps: NewSessionDeps,
  caller: Caller,
  asked: Parameters<ConversationApi['checkChoice']>[1],
): Promise<SessionChoice> {
  await checkChoice(rulesOf(deps), caller, undefined, asked);
  const { profileId, model, mode } = await checkedChange(asked, deps);
  if (model === null) throw new GatewayError('unknown_model', 'A new session has no model to take back.');
  return {
    ...(profileId !== undefined && { profileId }),
    ...(model !== undefined && { model }),
    ...(mode !== undefined && { mode }),
  };
}
