/** Uses of commands, as the intake hands them to a command. */
import type { CommandCall } from '../../../src/protocol/command.ts';
import { inEnglish } from '../../../src/protocol/texts/say.ts';

/** A person who is no owner gives a command without arguments in their chat with the bot on Telegram. */
export function commandCall(change: Partial<CommandCall> = {}): CommandCall {
  return {
    say: inEnglish,
    session: 'telegram:42',
    address: 'telegram:42',
    senderId: '42',
    userId: 'telegram:42',
    memoryOwner: 'telegram:42',
    owner: false,
    args: '',
    ...change,
  };
}
