/** A session changed by a command: one that nobody has written into yet is made, so that a first message may be the command. */
import type { CommandCall } from '../contracts/command.ts';
import { GatewayError } from '../contracts/errors.ts';
import type { Ledger } from '../contracts/ledger.ts';

/** It belongs to the token that speaks. Throws `GatewayError('try_again')` when somebody else made it at this moment, or `StoreError`. */
export async function changeSession(
  ledger: Pick<Ledger, 'updateSession'>,
  { session, tokenId }: Pick<CommandCall, 'session' | 'tokenId'>,
  change: Parameters<Ledger['updateSession']>[1],
): Promise<void> {
  const changed = await ledger.updateSession(session, change, { ownerTokenId: tokenId });
  if (changed !== undefined) return;
  throw new GatewayError(
    'try_again',
    'Somebody has begun this conversation just now: please send that again.',
  );
}
