/** Replies of the gateway itself: to commands, and to messages that it does not accept. */
import type { LaneRunner } from '../protocol/bus.ts';
import {
  addressOf,
  answeredMessage,
  type Button,
  type InboundMessage,
  type OutboundMessage,
} from '../protocol/message.ts';
import type { Receipt } from '../protocol/receive.ts';
import type { Ledger } from '../protocol/store/ledger.ts';
import type { PersonLanguages } from '../protocol/texts/languages.ts';
import type { Say } from '../protocol/texts/say.ts';
import { noteRefused } from './refused.ts';
import { PARLEY } from '../protocol/texts/parley.ts';

export type ReplyDeps = Parameters<typeof noteRefused>[0] & {
  bus: LaneRunner;
  ledger: Pick<Ledger, 'enqueue'>;
  languages: Pick<PersonLanguages, 'say'>;
};

/**
 * Logs a refusal and returns the receipt for the channel. A text for the sender is queued as a delivery, so that it is
 * not lost; if the channel answers in place (HTTP, an interaction of Discord, a slash command of Slack, a pressed
 * button) it stays in the receipt.
 */
export async function reply(deps: ReplyDeps, message: InboundMessage, receipt: Receipt): Promise<Receipt> {
  const { channel } = message;
  if (receipt.kind === 'refused') noteRefused(deps, message, receipt);
  if (!('reply' in receipt) || receipt.reply === undefined) return receipt;
  const { placeholder, button, answeredInPlace } = message;
  if (channel === 'http' || answeredInPlace || placeholder !== undefined || button !== undefined)
    return receipt;
  const { reply: content, ...rest } = receipt;
  const isPersonal = receipt.kind === 'refused' || receipt.personal === true;
  const outbound = replyTo(message, content, isPersonal, deps.languages.say(message));
  const delivery = { ref: `reply:${channel}:${message.id}`, message: outbound };
  deps.bus.runHeads(await deps.ledger.enqueue(addressOf(message), delivery, deps.bus.claimingNode('out')));
  return rest;
}

/** In a group, what is useful only to its sender is shown to no one else if the channel can do that. */
function replyTo(message: InboundMessage, content: string, isPersonal: boolean, say: Say): OutboundMessage {
  const { channel, chatId, threadId, senderId, place, hiddenId, fromBot } = message;
  const isHidden = hiddenId !== undefined;
  const isForSender = place === 'group' && fromBot !== true && (isPersonal || isHidden);
  return {
    channel,
    chatId,
    threadId,
    content,
    replyTo: hiddenId ?? answeredMessage(message),
    media: [],
    buttons: copyButtons(content, say),
    language: message.language,
    ...(isForSender && { onlyFor: senderId }),
    ...(isHidden && { repliesHidden: true }),
  };
}

/** Commands that their reader enters elsewhere: in a terminal of the gateway's machine, or in another chat. */
const TO_COPY =
  /\{parley\} pair approve [\dA-Z-]{1,40}|\{parley\} pair group [a-z]{1,32} [^\s`]{1,64}|\/link [\dA-Z]{5}-[\dA-Z]{5}/;

/** The button that copies such a command; none for a text without one. */
export function copyButtons(text: string, say: Say): Button[] {
  const [command] = TO_COPY.exec(text.replaceAll(PARLEY, '{parley}')) ?? [];
  if (command === undefined) return [];
  return [{ label: say('button.copy'), value: '', copy: command.replace('{parley}', () => PARLEY) }];
}
