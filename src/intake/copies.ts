/**
 * Duplicates of a message with buttons: a crash between a send and storing its id leaves one behind, which no one
 * edits.
 */
import type { MessageBus } from '../contracts/bus.ts';
import { toGatewayError } from '../contracts/errors.ts';
import type { Ledger } from '../contracts/store/ledger.ts';
import type { Log } from '../contracts/log.ts';
import { addressOf, type InboundMessage, removalOf } from '../contracts/message.ts';

export interface CopiesDeps {
  ledger: Pick<Ledger, 'sentParts' | 'enqueue'>;
  bus: Pick<MessageBus, 'claimingNode' | 'runHeads'>;
  log: Log;
}

/**
 * Has the pressed message removed unless the delivery `ref` has stored it. This goes through the chat's lane: by then a
 * send in progress has its id stored. Never throws: the next press on the copy tries again.
 */
export async function removeCopy(deps: CopiesDeps, pressed: InboundMessage, ref: string): Promise<void> {
  const { channel, chatId, buttonUnder: copy } = pressed;
  if (copy === undefined) return;
  try {
    const stored = await deps.ledger.sentParts(ref);
    if (stored.some(({ id }) => id === copy.id)) return;
    const removal = removalOf(ref, pressed, [copy]);
    deps.bus.runHeads(await deps.ledger.enqueue(addressOf(pressed), removal, deps.bus.claimingNode('out')));
    deps.log.info({ channel, chatId, ref, messageId: copy.id }, 'copy_removed');
  } catch (error) {
    deps.log.warn({ err: toGatewayError(error), channel, chatId, ref }, 'copy_not_removed');
  }
}
