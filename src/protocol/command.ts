/** Commands: messages that start with `/`, bypass the queue and need no model. */
import { type Caller, hasScope, type Scope } from './access.ts';
import { GatewayError } from './errors.ts';
import type { SessionStore } from './store/ledger.ts';
import type { Address, Button, InboundMessage, SessionKey } from './message.ts';
import type { ForwardedMessage } from './receive.ts';
import type { SessionRecord } from './store/records.ts';
import { type PlainKey, type Say, textRef } from './texts/say.ts';

/** One use of a command. */
export interface CommandCall {
  session: SessionKey;
  /** Chat it was written in: replies and later notices go there. */
  address: Address;
  /** Sender as the transport names it: `42`, or `token:<id>` over HTTP. */
  senderId: string;
  /** The sender's user id across chats: `telegram:42`, `token:<id>`. */
  userId: string;
  /** Whose memories the sender may see and change: `userId`, or an end user that a client named. */
  memoryOwner: string;
  senderName?: string | undefined;
  /** In a private chat no one else reads the reply; absent = others may read it. */
  place?: 'private' | 'group' | undefined;
  /** An owner of the gateway (HTTP: scope `admin`). */
  owner: boolean;
  /** The profile that the message itself names, over HTTP. */
  profileId?: string | undefined;
  /** Everything after the command's name, trimmed. */
  args: string;
  say: Say;
  tokenId?: string | undefined;
}

/** What config.json binds a person in a chat to; undefined = nothing. */
export type BoundTo = (
  call: Pick<CommandCall, 'address' | 'userId'>,
) => { profile: string; model?: string | undefined } | undefined;

/** A command as the channels list it. */
export interface CommandListing {
  /** Lower-case letters, without the slash. */
  name: string;
  /** One line that starts with a capital; at most 100 characters (Discord's limit). */
  description: string;
  /** Key of the description, for channels that show it in several languages. */
  about?: PlainKey | undefined;
  /** In a group, its reply is useful only to the sender. */
  personal?: true | undefined;
  argument?: CommandArgument | undefined;
  /** It is useful only there. */
  place?: 'group' | undefined;
  owners?: true | undefined;
}

interface CommandArgument {
  /** The same in every language. */
  name: string;
  /** The description's key, if it is one of the gateway's texts. */
  about?: PlainKey | undefined;
  /** The name for people; default: `name`. */
  label?: string | undefined;
  description: string;
  required: boolean;
  /** Everything that it can be; at most 25 (Discord's limit). */
  choices?: readonly string[] | undefined;
  /** `Command.suggest` knows what it may be. */
  suggests?: true | undefined;
}

/** The argument of a command that switches something on or off, and says how it is without one. */
export const ON_OR_OFF = {
  name: 'on|off',
  label: 'word.on_off',
  description: 'argument.on_off',
  required: false,
  choices: ['on', 'off'],
} as const;

/** Most suggestions at a time (Discord's limit). */
export const MAX_SUGGESTIONS = 25;

/** Completes a command's argument as typed so far; nothing for people who may not write. Throws `GatewayError`. */
export type Suggest = (message: InboundMessage) => Promise<readonly string[]>;

/** A question in Markdown; the buttons are shown where a reply can have any. */
export interface CommandQuestion {
  text: string;
  buttons: Button[];
}

/** `run` returns Markdown for the user; it throws only `GatewayError`, whose message the user reads. */
export interface Command extends Omit<CommandListing, 'description' | 'argument'> {
  /** A text of at most 100 characters (Discord's limit) that starts with a capital. */
  description: PlainKey;
  argument?:
    | (Omit<CommandArgument, 'description' | 'label'> & { label: PlainKey; description: PlainKey })
    | undefined;
  /** Accepted, but not listed: an app sends it on its own (Telegram's Start button). */
  unlisted?: boolean | undefined;
  /** What a token needs for it over HTTP besides `commands`; `chat` = nothing else, and not even `commands`. */
  scope?: Scope | undefined;
  run(call: CommandCall): Promise<string>;
  /** What the sender is asked first; undefined = `run` answers. Throws as `run` does. */
  ask?(call: CommandCall): Promise<CommandQuestion | undefined>;
  /** Arguments that start with, or contain, what is typed so far, up to `MAX_SUGGESTIONS`. Throws as `run` does. */
  suggest?(call: CommandCall): Promise<readonly string[]>;
  /** What the agent should answer instead; undefined = `run` answers. Throws as `run` does. */
  forward?(call: CommandCall): Promise<ForwardedMessage | undefined>;
}

/** The scope that the caller lacks for a command; undefined when it may use it. */
export function missingScope(caller: Caller, { scope }: Pick<Command, 'scope'>): Scope | undefined {
  const scopes: Scope[] = scope === 'chat' ? [] : ['commands', ...(scope === undefined ? [] : [scope])];
  return scopes.find((one) => !hasScope(caller, one));
}

/**
 * Changes the session of a command. Without messages it is created and belongs to the sender's token. Throws
 * `StoreError`, or `GatewayError('try_again')` when another call created it meanwhile.
 */
export async function changeSession(
  ledger: Pick<SessionStore, 'updateSession'>,
  { session, tokenId }: Pick<CommandCall, 'session' | 'tokenId'>,
  change: Parameters<SessionStore['updateSession']>[1],
): Promise<SessionRecord> {
  const record = await ledger.updateSession(session, change, { ownerTokenId: tokenId });
  if (record !== undefined) return record;
  throw new GatewayError('try_again', textRef('session.raced'));
}
