/** What others say in a group: messages that do not name the bot, and messages from bots. */
import type { IntakeContext } from './context.ts';
import { addressOf, type InboundMessage, parseAddress } from '../protocol/message.ts';
import type { Receipt } from '../protocol/receive.ts';
import { BOT_QUIET_MS, BOT_TURNS, BOT_WINDOW_MS, MAX_OBSERVED } from '../protocol/store/group-chats.ts';
import { observedMessage, observedText } from './observed-message.ts';
import { type Say, textRef } from '../protocol/texts/say.ts';
import { type Command, ON_OR_OFF } from '../protocol/command.ts';
import { GatewayError } from '../protocol/errors.ts';
import type { Refusal } from './replies.ts';

const minutes = (ms: number): number => ms / 60_000;

/** The sentence that tells the people of a chat that bots get no more answers there. */
const QUIET = textRef('group.quiet', {
  turns: BOT_TURNS,
  within: minutes(BOT_WINDOW_MS),
  quiet: minutes(BOT_QUIET_MS),
});

/** Keeps a message that starts no turn, for the next one of its session. Throws only `StoreError`. */
export async function observe(
  { store, noteRefusal, log }: IntakeContext,
  message: InboundMessage,
): Promise<Receipt> {
  const { channel, chatId, id, messageId = id, senderId } = message;
  const observed = observedMessage({ ...message, id: messageId });
  if (observed.content === '') return { kind: 'refused', code: 'empty' };
  await store.groupChats.keepObserved({ channel, chatId }, addressOf(message), [observed]);
  log.debug({ channel, chatId }, 'message_observed');
  const detail = 'it was kept for the next one that does';
  noteRefusal({ address: addressOf(message), senderId, code: 'not_mentioned', detail });
  return { kind: 'handled' };
}

/** Gives a kept message the text of its edit. Throws only `StoreError`. */
export async function editObserved({ store }: IntakeContext, message: InboundMessage): Promise<void> {
  const { channel, chatId, messageId, senderId } = message;
  const content = observedText(message);
  if (messageId === undefined || content === '') return;
  await store.groupChats.editObserved({ channel, chatId }, { id: messageId, senderId, content });
}

/** Refuses a bot's message once bots have caused too many turns; undefined otherwise. Throws only `StoreError`. */
export async function refuseBot(
  { store, languages }: IntakeContext,
  message: InboundMessage,
): Promise<Refusal | undefined> {
  const { channel, chatId, id } = message;
  const refusal: Refusal = { kind: 'refused', code: 'rate_limited' };
  const verdict = await store.groupChats.admitBot({ channel, chatId }, id);
  if (verdict === 'answered') return undefined;
  if (verdict !== 'quiet_begins') return refusal;
  const language = await languages.languageOf(addressOf(message));
  return { ...refusal, reply: languages.say({ ...message, language }).text(QUIET) };
}

/** A refusal for a bot: without text, which it might answer. */
export function withoutText<Kind extends Receipt>(receipt: Kind): Kind {
  if (!('reply' in receipt)) return receipt;
  return { ...receipt, reply: undefined };
}

/** Makes the command. It throws `GatewayError` outside groups, for anyone but owners, and for an unknown word. */
export function observeCommand({ accessPolicy, store }: IntakeContext): Command {
  return {
    name: 'observe',
    place: 'group',
    owners: true,
    description: 'about.observe',
    argument: ON_OR_OFF,
    async run({ address, place, owner, args, say }) {
      if (place !== 'group') throw new GatewayError('not_a_group', textRef('observe.private'));
      const { channel, chatId } = parseAddress(address);
      const choice = args.toLowerCase();
      if (choice === '') return describe(await accessPolicy.observes({ channel, chatId }), say);
      if (choice !== 'on' && choice !== 'off') throw new GatewayError('bad_choice', textRef('observe.usage'));
      if (!owner) throw new GatewayError('forbidden', textRef('observe.owners_only'));
      await store.groupChats.setObserving({ channel, chatId }, choice === 'on');
      return describe(choice === 'on', say);
    },
  };
}

function describe(on: boolean, say: Say): string {
  return on ? say('observe.on', { most: MAX_OBSERVED }) : say('observe.off');
}
