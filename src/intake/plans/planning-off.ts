/** Whether a conversation can have plans, and what to change where it cannot. */
import { GatewayError } from '../../contracts/errors.ts';
import type { SessionKey } from '../../contracts/message.ts';
import { planningOf } from '../../contracts/profile.ts';
import type { Profile } from '../../contracts/profile.ts';
import type { SessionStore } from '../../contracts/store/ledger.ts';

/** Throws `GatewayError('planning_off')` with what to change, or `StoreError`. */
export type CheckPlanning = (session: SessionKey) => Promise<void>;

export interface PlanningDeps {
  ledger: Pick<SessionStore, 'session'>;
  profiles: () => readonly Pick<Profile, 'id' | 'planning' | 'planningEnabled' | 'enabledTools'>[];
}

/** Makes the check. */
export function createPlanningCheck({ ledger, profiles }: PlanningDeps): CheckPlanning {
  return async (session) => {
    const profile = profileOf(profiles(), (await ledger.session(session))?.profileId);
    if (profile === undefined || planningOf(profile) !== 'off') return;
    throw new GatewayError('planning_off', planningOff(profile.id));
  };
}

/** The sentence about a profile whose planning is off. */
export function planningOff(profileId: string): string {
  return (
    `Planning is off in the profile "${profileId}". Set "planning" to "auto" in profiles/${profileId}/config.json, ` +
    'or switch to another profile with /profile.'
  );
}

/** The profile of that id, else the default one. */
export function profileOf<Known extends { id: string }>(
  profiles: readonly Known[],
  id: string | undefined,
): Known | undefined {
  return (
    profiles.find((profile) => profile.id === id) ?? profiles.find((profile) => profile.id === 'default')
  );
}
