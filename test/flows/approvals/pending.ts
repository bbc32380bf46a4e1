/** Calls that wait for a person, as the HTTP API lists them. */
import { vi } from 'vitest';
import { type GatewayFixture, WAIT } from '../setup.ts';

export interface Pending {
  id: string;
  session: string;
  tool: string;
  args: unknown;
  warning: string;
  files?: unknown[];
}

type Api = Pick<GatewayFixture, 'call'>;

/** The call that waits now in a session or of a tool; `token`: who asks, by default the owner. */
export async function pendingNow(
  { call }: Api,
  of: Partial<Pick<Pending, 'session' | 'tool'>>,
  token?: string,
): Promise<Pending | undefined> {
  const answer = await call('/v1/approvals', token === undefined ? {} : { token });
  const { approvals }: { approvals: Pending[] } = await answer.json();
  const matches = ({ session, tool }: Pending): boolean =>
    (of.session ?? session) === session && (of.tool ?? tool) === tool;
  return approvals.find((approval) => matches(approval));
}

/** The same, as soon as one waits whose id is not `not`. */
export async function pendingSoon(
  api: Api,
  of: Parameters<typeof pendingNow>[1],
  not?: string,
): Promise<Pending> {
  return await vi.waitFor(async () => {
    const found = await pendingNow(api, of);
    if (found === undefined || found.id === not) throw new Error(`nothing waits for ${JSON.stringify(of)}`);
    return found;
  }, WAIT);
}
