/** Whether a conversation can have plans, and what to change if it cannot. */
import { GatewayError } from '../../protocol/errors.ts';
import type { BoundTo, CommandCall } from '../../protocol/command.ts';
import { planningOf, type Profile } from '../../protocol/agent/profile.ts';
import type { SessionStore } from '../../protocol/store/ledger.ts';
import { textRef, type TextRef } from '../../protocol/texts/say.ts';

/** Where someone writes, and the profile that the message itself names. */
export type PlanningPlace = Pick<CommandCall, 'session' | 'address' | 'userId' | 'profileId'>;

/** Throws `GatewayError('planning_off')` with what to change, or `StoreError`. */
export type CheckPlanning = (place: PlanningPlace) => Promise<void>;

export interface PlanningDeps {
  ledger: Pick<SessionStore, 'session'>;
  boundTo: BoundTo;
  profiles: () => readonly Pick<Profile, 'id' | 'planning' | 'planningEnabled' | 'enabledTools'>[];
}

/** Makes the check. */
export function createPlanningCheck(deps: PlanningDeps): CheckPlanning {
  return async (place) => {
    const { profile } = await answeringHere(deps, place);
    if (profile === undefined || planningOf(profile) !== 'off') return;
    throw new GatewayError('planning_off', planningOff(profile.id));
  };
}

/** The sentence about a profile whose planning is off. */
export function planningOff(profileId: string): TextRef {
  return textRef('planning.off', { profile: profileId });
}

/**
 * The profile and model that answer a message there: those it names, else the chosen, the bound or the session's one.
 * Throws `StoreError`.
 */
export async function answeringHere(
  { ledger, boundTo, profiles }: PlanningDeps,
  { session, address, userId, profileId }: PlanningPlace,
) {
  const record = await ledger.session(session);
  const isSet = profileId !== undefined || record?.profileChosen === true;
  const bound = isSet ? undefined : boundTo({ address, userId });
  const profile = profileOf(profiles(), profileId ?? bound?.profile ?? record?.profileId);
  const model = record?.model ?? bound?.model;
  return { record, profile, choice: { profileId: profile?.id, model } };
}

/** The profile of that id, else the default one. */
function profileOf<Known extends { id: string }>(
  profiles: readonly Known[],
  id: string | undefined,
): Known | undefined {
  return (
    profiles.find((profile) => profile.id === id) ?? profiles.find((profile) => profile.id === 'default')
  );
}
