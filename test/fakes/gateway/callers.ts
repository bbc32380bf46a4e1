/** The callers that the fake gateway knows, and the commands it lists for them. */
import { type Caller, hasScope } from '../../../src/protocol/access.ts';
import type { CommandListing } from '../../../src/protocol/command.ts';

/** `Authorization` values of an owner and of two users who may do everything but `admin`. */
export const ADMIN = 'Bearer admin-token-of-the-owner';
export const CHAT = 'Bearer chat-token-of-a-friend';
export const OTHER = 'Bearer chat-token-of-a-stranger';

/** Those three, by `Authorization` value. */
export function knownCallers(): Map<string, Caller> {
  const scopes: Caller['scopes'] = ['chat', 'approve', 'commands'];
  return new Map<string, Caller>([
    [ADMIN, { tokenId: 'admin', scopes: ['admin', 'chat'] }],
    [CHAT, { tokenId: 'friend', scopes }],
    [OTHER, { tokenId: 'stranger', scopes }],
  ]);
}

/** The known callers among those values. */
export function validOf(
  tokens: ReadonlyMap<string, Caller>,
  authorizations: readonly string[],
): ReadonlyMap<string, Caller> {
  return new Map(
    authorizations.flatMap((value) => {
      const caller = tokens.get(value);
      return caller === undefined ? [] : [[value, caller] as const];
    }),
  );
}

export const COMMANDS: CommandListing[] = [
  { name: 'stop', description: 'Stop the running answer and drop queued messages' },
  { name: 'new', description: 'Start a fresh conversation' },
  { name: 'status', description: 'What is running and what waits' },
  {
    name: 'mode',
    description: 'How plans are followed here',
    argument: { name: 'mode', description: 'Which', required: false },
  },
  { name: 'help', description: 'This list' },
];

/** All of them with the scope `commands`, else `/stop`. */
export function commandsFor(caller: Caller): CommandListing[] {
  return COMMANDS.filter(({ name }) => name === 'stop' || hasScope(caller, 'commands'));
}
