/** Ownership of sessions: knowing a session's key grants no access to it. */
import type { IntakeContext } from './context.ts';
import { isReserved } from './hook-settings.ts';
import { type Caller, hasScope } from '../protocol/access.ts';
import type { SessionKey } from '../protocol/message.ts';
import type { SessionRecord } from '../protocol/store/records.ts';
import type { StopResult } from '../protocol/store/lanes.ts';
import { type PlainKey, type Say, textRef } from '../protocol/texts/say.ts';
import { GatewayError } from '../protocol/errors.ts';
import { mayUseProfile } from '../protocol/agent/profile.ts';

export function isAdmin(caller: Caller): boolean {
  return hasScope(caller, 'admin');
}

/** Admins see and use every session, other tokens only those they created. */
export function maySee(caller: Caller, record: SessionRecord): boolean {
  return isAdmin(caller) || (record.ownerTokenId !== undefined && record.ownerTokenId === caller.tokenId);
}

/** Gives the session if the caller may see it. Throws `StoreError`. */
export type Visible = (caller: Caller, key: SessionKey) => Promise<SessionRecord | undefined>;

/** How to find and create a caller's sessions. */
export interface OwnedSessions {
  visible: Visible;
  /** Creates the session for the caller, unless there is one. */
  make: (caller: Caller, key: SessionKey) => Promise<unknown>;
}

/** Finds and makes the sessions of callers. */
export function ownedSessions(context: IntakeContext): OwnedSessions {
  const { ledger, settings } = context;
  return {
    async visible(caller, key) {
      if (!isAdmin(caller) && isReserved(settings.current(), key)) return undefined;
      const record = await ledger.session(key);
      return record !== undefined && maySee(caller, record) ? record : undefined;
    },
    async make(caller, key) {
      refuseReserved(context, caller, key);
      return await ledger.updateSession(key, {}, { ownerTokenId: caller.tokenId });
    },
  };
}

/** Throws `GatewayError('forbidden')` for a session that the settings name, unless the caller is an admin. */
export function refuseReserved({ settings }: IntakeContext, caller: Caller, key: string): void {
  if (isAdmin(caller) || !isReserved(settings.current(), key)) return;
  throw new GatewayError('forbidden', textRef('refused.reserved', { session: key }));
}

/** The session, created if needed; undefined when it belongs to someone else. */
export async function ownSession(
  { visible, make }: OwnedSessions,
  caller: Caller,
  key: SessionKey,
): Promise<SessionRecord | undefined> {
  const session = await visible(caller, key);
  if (session !== undefined) return session;
  await make(caller, key);
  return await visible(caller, key);
}

/** The token whose sessions the caller sees; undefined = an admin, who sees all. */
export function ownerOf(caller: Caller): string | undefined {
  return isAdmin(caller) ? undefined : caller.tokenId;
}

/** Stops a session: the mark is committed before this resolves, then the node that runs the turn is notified. */
export async function stopSession(
  { store, bus }: IntakeContext,
  session: SessionKey,
  fresh: boolean,
): Promise<StopResult> {
  const result = await store.lanes.stop(session, { fresh });
  bus.notifyStop(`in:${session}`);
  bus.sweepSoon();
  return result;
}

/** What `/stop` has ended, in words; `nothing`, or an empty text, when it was nothing. */
export function describeStop(result: StopResult, say: Say, nothing?: PlainKey): string {
  const agents = result.agents === undefined ? [] : [say('stop.agents', { agents: result.agents })];
  const droppedNote = result.cancelled === 0 ? [] : [say('stop.dropped', { count: result.cancelled })];
  if (result.stopped) return [say('stop.stopped'), ...droppedNote, ...agents].join(' ');
  if (result.cancelled > 0) return [say('stop.was_idle'), ...droppedNote, ...agents].join(' ');
  return agents.join(' ') || (nothing === undefined ? '' : say(nothing));
}

/** A profile, a model, or both; `model` null = that of the profile. */
interface Choice {
  profileId?: string | undefined;
  model?: string | null | undefined;
}

/**
 * Throws `GatewayError('forbidden')` unless the caller may choose this: admins anything, others profiles for everyone
 * and what the session has; without a session (undefined) only the former.
 */
export async function checkChoice(
  context: IntakeContext,
  caller: Caller,
  session: SessionRecord | undefined,
  { profileId, model }: Choice,
): Promise<void> {
  if (hasScope(caller, 'admin')) return;
  const current = session?.profileId ?? 'default';
  if (profileId !== undefined) {
    const profile = context.profiles().find(({ id }) => id === profileId);
    if (!mayUseProfile(profile, { owner: false, current })) {
      const name = profileId.slice(0, 80);
      throw new GatewayError(
        'forbidden',
        textRef('refused.choice_profile', { name, instead: choosableOf(context) }),
      );
    }
  }
  if (model === undefined || (model ?? undefined) === session?.model) return;
  const usual = await context.models.describe(profileId ?? current, 'person');
  // Undoing an admin's choice for the session is a choice, too.
  if (session?.model === undefined && typeof model === 'string' && isSameModel(model, usual)) return;
  const instead = choosableOf(context);
  throw new GatewayError(
    'forbidden',
    model === null
      ? textRef('refused.choice_other_model', { instead })
      : textRef('refused.choice_model', { name: model.slice(0, 80), instead }),
  );
}

/** Those of these models that the caller may choose without a session. */
export async function choosable(
  context: IntakeContext,
  caller: Caller,
  names: readonly string[],
): Promise<string[]> {
  if (hasScope(caller, 'admin')) return [...names];
  const usual = await context.models.describe(undefined, 'person');
  const open = new Set(
    context
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

function choosableOf({ profiles }: IntakeContext): string {
  const open = profiles().filter(({ usableBy }) => usableBy === 'everyone');
  return ['"default"', ...open.map(({ id }) => `"${id}"`)].join(', ');
}
