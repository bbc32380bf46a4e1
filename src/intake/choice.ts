/** Who may choose which profile and model: one rule for a session, a message, and a completion without a session. */
import { type Caller, hasScope } from '../protocol/access.ts';
import { GatewayError } from '../protocol/errors.ts';
import { mayUseProfile, type Profile } from '../protocol/agent/profile.ts';
import type { SessionRecord } from '../protocol/store/records.ts';
import { textRef } from '../protocol/texts/say.ts';

export interface ChoiceDeps {
  profiles: () => readonly Pick<Profile, 'id' | 'usableBy'>[];
  /** The model of a session that has this profile and names no model. Never throws. */
  defaultModel(profileId: string | undefined): Promise<string>;
}

/** A profile, a model, or both; `model` null = that of the profile. */
export interface Choice {
  profileId?: string | undefined;
  model?: string | null | undefined;
}

/**
 * Throws `GatewayError('forbidden')` unless the caller may choose this: admins may choose anything, others the profiles
 * that are for everyone, and what the session already has; undefined = a session that does not exist yet, or none.
 */
export async function checkChoice(
  deps: ChoiceDeps,
  caller: Caller,
  session: Pick<SessionRecord, 'profileId' | 'model'> | undefined,
  { profileId, model }: Choice,
): Promise<void> {
  if (hasScope(caller, 'admin')) return;
  const current = session?.profileId ?? 'default';
  if (profileId !== undefined) {
    const profile = deps.profiles().find(({ id }) => id === profileId);
    if (!mayUseProfile(profile, { owner: false, current })) {
      const name = profileId.slice(0, 80);
      throw new GatewayError(
        'forbidden',
        textRef('refused.choice_profile', { name, instead: choosableOf(deps) }),
      );
    }
  }
  if (model === undefined || (model ?? undefined) === session?.model) return;
  const usual = await deps.defaultModel(profileId ?? current);
  // Undoing an admin's choice for the session is a choice, too.
  if (session?.model === undefined && typeof model === 'string' && isSameModel(model, usual)) return;
  const instead = choosableOf(deps);
  throw new GatewayError(
    'forbidden',
    model === null
      ? textRef('refused.choice_other_model', { instead })
      : textRef('refused.choice_model', { name: model.slice(0, 80), instead }),
  );
}

/** Those of these models that the caller may choose without a session. */
export async function choosable(
  deps: ChoiceDeps,
  caller: Caller,
  names: readonly string[],
): Promise<string[]> {
  if (hasScope(caller, 'admin')) return [...names];
  const usual = await deps.defaultModel(undefined);
  const open = new Set(
    deps
      .profiles()
      .filter((profile) => mayUseProfile(profile, { owner: false, current: 'default' }))
      .map(({ id }) => id),
  );
  return names.filter((name) => name === 'default' || open.has(name) || isSameModel(name, usual));
}

/** People may omit the tag `latest`, as Ollama's own tools do. */
function isSameModel(name: string, other: string): boolean {
  return name === other || name === `${other}:latest` || `${name}:latest` === other;
}

/** What everyone may choose, as text for people. */
function choosableOf({ profiles }: ChoiceDeps): string {
  const open = profiles().filter(({ usableBy }) => usableBy === 'everyone');
  return ['"default"', ...open.map(({ id }) => `"${id}"`)].join(', ');
}
