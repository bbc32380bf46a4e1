/** What others say in a group: messages that do not name the bot, and messages from bots. */
import type { Log } from '../../protocol/log.ts';
import { addressOf, type InboundMessage } from '../../protocol/message.ts';
import type { Receipt } from '../../protocol/receive.ts';
import {
  BOT_QUIET_MS,
  BOT_TURNS,
  BOT_WINDOW_MS,
  type GroupChatStore,
  MAX_OBSERVED_CHARS,
} from '../../protocol/store/group-chats.ts';
import type { NoteRefusal } from '../../protocol/store/traces.ts';
import { oneLine } from '../../lib/text.ts';
import type { PersonLanguages } from '../../protocol/texts/languages.ts';
import { textRef } from '../../protocol/texts/say.ts';

export interface GroupTalkDeps {
  groupChats: Pick<GroupChatStore, 'keepObserved' | 'editObserved' | 'admitBot'>;
  /** Counts messages that did not become turns. */
  noteRefusal: NoteRefusal;
  log: Log;
}

interface QuietDeps {
  languages: Pick<PersonLanguages, 'say' | 'languageOf'>;
}

type Refusal = Extract<Receipt, { kind: 'refused' }>;

const minutes = (ms: number): number => ms / 60_000;

/** The sentence that tells the people of a chat that bots get no more answers there. */
const QUIET = textRef('group.quiet', {
  turns: BOT_TURNS,
  within: minutes(BOT_WINDOW_MS),
  quiet: minutes(BOT_QUIET_MS),
});

/** Keeps a message that starts no turn, for the next one of its session. Throws only `StoreError`. */
export async function observe(
  { groupChats, noteRefusal, log }: GroupTalkDeps,
  message: InboundMessage,
): Promise<Receipt> {
  const { channel, chatId, id, messageId = id, senderName, senderId } = message;
  const content = observedText(message);
  if (content === '') return { kind: 'refused', code: 'empty' };
  const name = senderName ?? `user ${senderId}`;
  const observed = { id: messageId, senderName: name, content };
  await groupChats.keepObserved({ channel, chatId }, addressOf(message), observed);
  log.debug({ channel, chatId }, 'message_observed');
  const detail = 'it was kept for the next one that does';
  noteRefusal({ address: addressOf(message), senderId, code: 'not_mentioned', detail });
  return { kind: 'handled' };
}

/** Gives a kept message the text of its edit. Throws only `StoreError`. */
export async function editObserved(
  { groupChats }: Pick<GroupTalkDeps, 'groupChats'>,
  message: InboundMessage,
): Promise<void> {
  const { channel, chatId, messageId } = message;
  const content = observedText(message);
  if (messageId === undefined || content === '') return;
  await groupChats.editObserved({ channel, chatId }, messageId, content);
}

/** A message as one line, with its files by kind. */
function observedText({ content, media, forwarded }: InboundMessage): string {
  const files = media.map(({ kind }) => `[${kind}]`);
  const text = oneLine([forwarded === true ? '(forwarded)' : '', content, ...files].join(' '));
  return text.length <= MAX_OBSERVED_CHARS ? text : `${text.slice(0, MAX_OBSERVED_CHARS)}…`;
}

/**
 * Refuses a bot's message if bots have caused too many turns; undefined when it is answered. Throws only `StoreError`.
 */
export async function refuseBot(
  { groupChats, languages }: Pick<GroupTalkDeps, 'groupChats'> & QuietDeps,
  message: InboundMessage,
): Promise<Refusal | undefined> {
  const { channel, chatId, id } = message;
  const refused: Refusal = { kind: 'refused', code: 'rate_limited' };
  const verdict = await groupChats.admitBot({ channel, chatId }, id);
  if (verdict === 'answered') return undefined;
  if (verdict !== 'quiet_begins') return refused;
  const language = await languages.languageOf(addressOf(message));
  return { ...refused, reply: languages.say({ ...message, language }).text(QUIET) };
}

/** A refusal for a bot: without text, which it might answer. */
export function withoutText<Kind extends Receipt>(receipt: Kind): Kind {
  if (!('reply' in receipt)) return receipt;
  return { ...receipt, reply: undefined };
}
