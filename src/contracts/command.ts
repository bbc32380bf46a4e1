/** What a command is: words that begin with `/` and act at once, past the queue, without a model. */
import type { Address, SessionKey } from './message.ts';

/** One use of a command. */
export interface CommandCall {
  session: SessionKey;
  /** Where it was written: replies and later news go there. */
  address: Address;
  /** Who wrote it, as the transport tells: `42`, or `token:<id>` over HTTP. */
  senderId: string;
  /** The sender's user id across chats: `telegram:42`, `token:<id>`. */
  userId: string;
  /** Display only. */
  senderName?: string | undefined;
  /** Whether others read the reply; absent = they do. */
  place?: 'private' | 'group' | undefined;
  /** An owner of the house (HTTP: scope `admin`). */
  owner: boolean;
  /** Everything behind the command's name, trimmed. */
  args: string;
  /** The token that wrote it, over HTTP. */
  tokenId?: string | undefined;
}

/** How a command shows in the lists of the channels. */
export interface CommandListing {
  /** Lower-case letters, without the slash. */
  name: string;
  /** One line that begins with a capital; at most 100 characters (Discord's limit). */
  description: string;
  /** The one argument people may give. */
  argument?: { name: string; description: string; required: boolean } | undefined;
}

/** A command. `run` gives what the user reads, in Markdown; it throws only `GatewayError`, whose message the user reads. */
export interface Command extends CommandListing {
  /** Known, but in no list: an app sends it by itself (Telegram's Start button). */
  unlisted?: boolean | undefined;
  run(call: CommandCall): Promise<string>;
}
