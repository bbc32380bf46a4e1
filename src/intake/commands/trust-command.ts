/** The command `/trust`: an owner ends the taint of a conversation. */
import type { Command } from '../../protocol/command.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { SessionStore } from '../../protocol/store/ledger.ts';
import { describeSources, taints } from '../../protocol/agent/risk.ts';
import { textRef } from '../../protocol/texts/say.ts';

/** Makes the command. */
export function trustCommand({ ledger }: { ledger: Pick<SessionStore, 'trustSession'> }): Command {
  return {
    name: 'trust',
    owners: true,
    description: 'about.trust',
    async run({ session, owner, say }) {
      if (!owner) {
        throw new GatewayError('forbidden', textRef('trust.owners_only'));
      }
      const sources = await ledger.trustSession(session);
      if (sources === undefined) {
        throw new GatewayError('busy', textRef('trust.busy'));
      }
      if (!taints(sources)) return say('trust.nothing');
      return say('trust.done', { sources: describeSources(sources, say) });
    },
  };
}
