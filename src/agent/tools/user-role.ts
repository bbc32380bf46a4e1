/** The role of a user among the people of the gateway. */
import type { UserRole } from '../../protocol/agent/tool.ts';
import type { AgentDeps } from '../deps.ts';

/** `system` for turns of the gateway itself. Throws `StoreError`. */
export async function roleOf({ isOwner }: Pick<AgentDeps, 'isOwner'>, userId: string): Promise<UserRole> {
  if (userId === 'system') return 'system';
  return (await isOwner(userId)) ? 'owner' : 'user';
}
