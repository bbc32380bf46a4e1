/** Usage of a gateway whose turns all cost the same. */
import type { Caller } from '../../../src/protocol/access.ts';
import type { UsageReport } from '../../../src/protocol/agent/usage.ts';
import { USAGE } from '../gateway/turn.ts';

/** An admin sees a chat's, others their own. */
export function fakeUsage(caller: Caller): Promise<UsageReport> {
  const key = caller.scopes.includes('admin') ? 'telegram:1' : `token:${caller.tokenId}`;
  const total = { ...USAGE, answers: 2, estimated: false };
  return Promise.resolve({ groups: [{ key, ...total }], more: false, total });
}
