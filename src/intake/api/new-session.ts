/** What may be chosen for a session before its first message creates it, and the check of that choice. */
import type { IntakeContext } from '../context.ts';
import { type Caller, hasScope } from '../../protocol/access.ts';
import { GatewayError, ProviderError, readerOf, wordError } from '../../protocol/errors.ts';
import { mayUseProfile, planningOf } from '../../protocol/agent/profile.ts';
import type {
  ConversationApi,
  SessionChoices,
  SessionModel,
} from '../../protocol/sessions/conversation-api.ts';
import type { SessionChoice, SessionRecord } from '../../protocol/store/records.ts';
import { inEnglish } from '../../protocol/texts/say.ts';
import { checkChoice, choosable } from '../sessions.ts';
import type { GatewayApi } from '../../protocol/gateway-api.ts';
import { readMode } from '../../protocol/agent/plan.ts';
import type { Ledger } from '../../protocol/store/ledger.ts';
import { readTitle } from '../../protocol/sessions/session-list.ts';
import { readQueueMode } from '../session-commands.ts';

/** Longest time for the model servers to list their models, in milliseconds. */
const SERVERS_MS = 10_000;

type SessionChange = Parameters<GatewayApi['updateSession']>[2];

/** What the caller may choose; `problem` stands in for models if no model server answers. Throws `StoreError`. */
export async function sessionChoices(
  context: IntakeContext,
  caller: Caller,
  profileId: string | undefined,
  say = inEnglish,
): Promise<SessionChoices> {
  const owner = hasScope(caller, 'admin');
  const profiles = context
    .profiles()
    .filter((profile) => mayUseProfile(profile, { owner, current: profileId ?? 'default' }))
    .map((profile) => ({
      id: profile.id,
      description: profile.description,
      plans: planningOf(profile) !== 'off',
    }));
  const { mode } = context.ledger.newSessions;
  try {
    const { model: configured } = await context.models.usual(profileId);
    const model = { configured, ...(await context.models.whoAnswers(configured)) };
    return { profiles, mode, model, models: await namesFor(context, caller), problem: undefined };
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    const problem = wordError(error, readerOf({ owner, place: 'private' }), say);
    return { profiles, mode, model: undefined, models: [], problem };
  }
}

/** The actual models among the names that the caller may choose. */
async function namesFor(context: IntakeContext, caller: Caller): Promise<string[]> {
  const profiles = new Set(['default', ...context.profiles().map(({ id }) => id)]);
  const names = await choosable(context, caller, await context.models.list(AbortSignal.timeout(SERVERS_MS)));
  return names.filter((name) => !profiles.has(name));
}

/** As `ConversationApi.checkChoice`. */
export async function checkedChoice(
  context: IntakeContext,
  caller: Caller,
  choice: Parameters<ConversationApi['checkChoice']>[1],
): Promise<SessionChoice> {
  await checkChoice(context, caller, undefined, choice);
  const { profileId, model, mode } = await checkedChange(context, choice);
  if (model === null) throw new GatewayError('unknown_model', 'A new session has no model to take back.');
  return {
    ...(profileId !== undefined && { profileId }),
    ...(model !== undefined && { model }),
    ...(mode !== undefined && { mode }),
  };
}

/** As for a message from someone without a binding of their own. Throws what `usual` throws. */
export async function sessionModel(
  { models, boundTo }: IntakeContext,
  { key, profileId: sessionProfileId, profileChosen, model }: SessionRecord,
): Promise<SessionModel> {
  const binding = profileChosen ? undefined : boundTo({ address: key, userId: '' });
  const profileId = binding?.profile ?? sessionProfileId;
  const choice =
    model !== undefined
      ? { model, from: 'session' as const }
      : binding?.model !== undefined
        ? { model: binding.model, from: 'binding' as const }
        : await models.usual(profileId);
  return {
    configured: choice.model,
    from: choice.from,
    profileId,
    ...(await models.whoAnswers(choice.model)),
  };
}

/**
 * The change for the store. Throws `GatewayError`: `unknown_model`, `unknown_profile`, `bad_mode`, `bad_queue_mode`,
 * `bad_title`.
 */
export async function checkedChange(
  context: IntakeContext,
  change: SessionChange,
): Promise<Parameters<Ledger['updateSession']>[1]> {
  const { profileId, model, mode, queueMode, title } = change;
  const profileIds = context.profiles().map(({ id }) => id);
  if (profileId !== undefined && !profileIds.includes(profileId)) {
    throw new GatewayError(
      'unknown_profile',
      `There is no profile "${profileId.slice(0, 80)}". Profiles: ${profileIds.join(', ')}.`,
    );
  }
  const signal = AbortSignal.timeout(SERVERS_MS);
  if (profileId !== undefined) await context.models.checkProfile(profileId, signal);
  if (typeof model === 'string') await context.models.resolve(model, signal);
  return {
    ...change,
    mode: mode ? readMode(mode) : undefined,
    queueMode: queueMode === undefined ? undefined : readQueueMode(queueMode),
    title: typeof title === 'string' ? readTitle(title) : title,
  };
}
