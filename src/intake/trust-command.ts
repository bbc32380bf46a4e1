/** The command `/trust`: an owner ends the taint of a conversation. */
import type { Command } from '../contracts/command.ts';
import { GatewayError } from '../contracts/errors.ts';
import type { SessionStore } from '../contracts/store/ledger.ts';
import { describeSources, taints } from '../contracts/risk.ts';

/** Makes the command. */
export function trustCommand({ ledger }: { ledger: Pick<SessionStore, 'trustSession'> }): Command {
  return {
    name: 'trust',
    description: 'Trust what this conversation has read (owners only)',
    async run({ session, owner }) {
      if (!owner) {
        throw new GatewayError(
          'forbidden',
          'Only an owner can trust what this conversation has read. /new starts a fresh one.',
        );
      }
      const sources = await ledger.trustSession(session);
      if (sources === undefined) {
        throw new GatewayError('busy', 'An answer is not finished here: wait for it, or send /stop first.');
      }
      if (!taints(sources)) return 'This conversation has read no text of others. Nothing was changed.';
      return (
        `This conversation has read text from ${describeSources(sources)}. From now on that text counts as trusted: ` +
        'tools that reach beyond this chat no longer ask because of it. What is read from now on counts anew.'
      );
    },
  };
}
