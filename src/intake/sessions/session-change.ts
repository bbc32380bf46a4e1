/** A client's changes to a session's settings, checked. */
import { GatewayError } from '../../protocol/errors.ts';
import type { GatewayApi } from '../../protocol/gateway-api.ts';
import { readMode } from '../../protocol/agent/plan.ts';
import type { Ledger } from '../../protocol/store/ledger.ts';
import { readTitle } from '../../protocol/sessions/session-list.ts';
import { readQueueMode } from '../commands/queue-command.ts';

/** Longest time for the model servers to list their models, in milliseconds. */
const SERVERS_MS = 10_000;

/** What the check needs: the existing profiles, and whether a model can answer under one. */
export interface SessionChangeDeps {
  profiles: () => readonly { id: string }[];
  models: {
    resolve: GatewayApi['resolveModel'];
    /** Throws `GatewayError` when no model can answer under that profile and waiting would not help. */
    checkProfile(id: string, signal: AbortSignal): Promise<void>;
  };
}

type SessionChange = Parameters<GatewayApi['updateSession']>[2];

/**
 * The change as the store accepts it. Throws `GatewayError('unknown_model' | 'unknown_profile' | 'bad_mode' |
 * 'bad_queue_mode' | 'bad_title')`.
 */
export async function checkedChange(
  change: SessionChange,
  deps: SessionChangeDeps,
): Promise<Parameters<Ledger['updateSession']>[1]> {
  const { profileId, model, mode, queueMode, title, pinned, archived, readSeq } = change;
  const profileIds = deps.profiles().map(({ id }) => id);
  if (profileId !== undefined && !profileIds.includes(profileId)) {
    throw new GatewayError(
      'unknown_profile',
      `There is no profile "${clipName(profileId)}". Profiles: ${profileIds.join(', ')}.`,
    );
  }
  const signal = AbortSignal.timeout(SERVERS_MS);
  if (profileId !== undefined) await deps.models.checkProfile(profileId, signal);
  if (typeof model === 'string') await deps.models.resolve(model, signal);
  return {
    ...(profileId && { profileId }),
    ...(model !== undefined && { model }),
    ...(mode && { mode: readMode(mode) }),
    ...(queueMode !== undefined && { queueMode: readQueueMode(queueMode) }),
    ...(pinned !== undefined && { pinned }),
    ...(archived !== undefined && { archived }),
    ...(readSeq !== undefined && { readSeq }),
    ...(title !== undefined && { title: title === null ? null : readTitle(title) }),
  };
}

function clipName(name: string): string {
  return name.slice(0, 80);
}
