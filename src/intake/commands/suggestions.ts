/** Suggestions for a command's argument while it is being typed. */
import type { AccessPolicy } from '../../protocol/access.ts';
import { type Command, MAX_SUGGESTIONS, type Suggest } from '../../protocol/command.ts';
import { addressOf, memoryOwnerOf, userIdOf } from '../../protocol/message.ts';
import type { Ledger } from '../../protocol/store/ledger.ts';
import { readCommands } from './commands.ts';
import { inEnglish } from '../../protocol/texts/say.ts';

export interface SuggestDeps {
  commands: readonly Command[];
  accessPolicy: Pick<AccessPolicy, 'mayWrite'>;
  ledger: Pick<Ledger, 'sessionOf'>;
}

/** Makes `Suggest`; it stores and changes nothing. */
export function createSuggest({ commands, accessPolicy, ledger }: SuggestDeps): Suggest {
  const read = readCommands(commands);
  return async (message) => {
    const use = read(message.content);
    if (use?.command.suggest === undefined) return [];
    const allowed = await accessPolicy.mayWrite(message);
    if (allowed === undefined) return [];
    const address = addressOf(message);
    const { senderId, senderName, place } = message;
    const found = await use.command.suggest({
      session: await ledger.sessionOf(address),
      address,
      senderId,
      senderName,
      userId: userIdOf(message),
      memoryOwner: memoryOwnerOf(message),
      place,
      owner: allowed.owner,
      args: use.args,
      say: inEnglish,
    });
    return found.slice(0, MAX_SUGGESTIONS);
  };
}
