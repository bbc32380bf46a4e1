/** Replies of the gateway itself, to commands and to messages that do not become turns. */
import type { IntakeContext } from './context.ts';
import type { DenialDetail, Verdict } from '../protocol/access.ts';
import {
  type Address,
  addressOf,
  answeredMessage,
  type Button,
  type DeliveryPayload,
  type InboundMessage,
  type OutboundMessage,
} from '../protocol/message.ts';
import type { Receipt } from '../protocol/receive.ts';
import type { Say } from '../protocol/texts/say.ts';
import { GatewayError, wordError } from '../protocol/errors.ts';
import { GROUP_REFUSAL_MS, type RateVerdict, REFUSALS_REPORTED } from './limits.ts';
import { PARLEY } from '../protocol/texts/parley.ts';
import type { MessageBus } from '../protocol/bus.ts';
import type { Ledger } from '../protocol/store/ledger.ts';

export type Refusal = Extract<Receipt, { kind: 'refused' }>;

/** Logs a refusal and counts it for people who ask why there was no answer; HTTP clients already know. Never throws. */
function noteRefused(
  { log, noteRefusal }: IntakeContext,
  message: InboundMessage,
  { code, why: reason }: Refusal,
): void {
  const { channel, chatId, senderId } = message;
  log.info({ channel, chatId, senderId, code, why: reason }, 'message_refused');
  if (channel === 'http') return;
  const silent = reason === 'not_mentioned';
  noteRefusal({
    address: addressOf(message),
    senderId,
    code: silent ? reason : code,
    detail: reason === undefined || silent ? '' : DENIALS[reason],
  });
}

const DENIALS: Record<Exclude<DenialDetail, 'not_mentioned'>, string> = {
  group: `the group has no grant (${PARLEY} pair group)`,
  codes: 'a code was given in the last hour, or too many wait',
  bot: 'it was written by a bot in a private chat',
};

/** Refuses a sender who has no access, or asks for pairing. */
export function refuseSender(verdict: Exclude<Verdict, { kind: 'allow' | 'observe' }>, say: Say): Refusal {
  const { kind, reply: text } = verdict;
  const code = kind === 'pairing' ? 'pairing' : 'denied';
  const reason = kind === 'deny' && verdict.why !== undefined ? { why: verdict.why } : {};
  return text === undefined
    ? { kind: 'refused', code, ...reason }
    : { kind: 'refused', code, reply: say.text(text), ...reason };
}

/** Refuses a sender who writes too fast; a group reads that once for several messages. */
export function refuseRate(
  { place, placeholder, answeredInPlace }: InboundMessage,
  rate: Extract<RateVerdict, { allowed: false }>,
  say: Say,
): Refusal {
  // A command is answered where it was given.
  const isOpen = place === 'group' && placeholder === undefined && answeredInPlace !== true;
  if (rate.refusals > REFUSALS_REPORTED || (isOpen && rate.isRepeat))
    return { kind: 'refused', code: 'rate_limited' };
  const seconds = Math.ceil(rate.retryAfterMs / 1_000);
  if (isOpen) {
    const reply = say('refused.too_fast_group', { seconds, quiet: GROUP_REFUSAL_MS / 1_000 });
    return { kind: 'refused', code: 'rate_limited', reply };
  }
  const key = rate.refusals === REFUSALS_REPORTED ? 'refused.too_fast_last' : 'refused.too_fast';
  return { kind: 'refused', code: 'rate_limited', reply: say(key, { seconds }) };
}

/** Refuses with the text of the rule that a check throws; other errors are passed on. */
export async function refuseByRule(say: Say, check: () => Promise<void>): Promise<Refusal | undefined> {
  try {
    await check();
    return undefined;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { code, retryAfterMs } = error;
    if (code === 'forbidden' || code === 'rate_limited' || code === 'planning_off')
      return { kind: 'refused', code, reply: wordError(error, 'operator', say), retryAfterMs };
    throw error;
  }
}

/** Queues a message for a chat and starts to send it. Throws only `StoreError`. */
export async function deliver(
  { ledger, bus }: { ledger: Ledger; bus: MessageBus },
  address: Address,
  delivery: DeliveryPayload,
): Promise<void> {
  bus.runHeads(await ledger.enqueue(address, delivery, bus.claimingNode('out')));
}

/**
 * Logs a refusal and returns the receipt for the channel. The sender's text is queued as a delivery, so that it is not
 * lost; channels that answer in place (HTTP, interactions, slash commands, buttons) find it in the receipt.
 */
export async function reply(
  context: IntakeContext,
  message: InboundMessage,
  receipt: Receipt,
): Promise<Receipt> {
  if (receipt.kind === 'refused') noteRefused(context, message, receipt);
  if (!('reply' in receipt) || receipt.reply === undefined || isAnsweredInPlace(message)) return receipt;
  // Someone who writes to a person whom the bot stands in for reads nothing of the gateway's.
  if (message.onBehalfOf !== undefined) return { ...receipt, reply: undefined };
  const { reply: content, ...rest } = receipt;
  const isPersonal = receipt.kind === 'refused' || receipt.personal === true;
  const outbound = replyTo(message, content, isPersonal, context.languages.say(message));
  if (receipt.kind === 'handled') outbound.buttons.push(...(receipt.buttons ?? []));
  await deliver(context, addressOf(message), { ref: replyRef(message), message: outbound });
  return rest;
}

/**
 * True for a message whose reply was queued before: platforms hand out again what they do not know to be committed, and
 * an act such as `/undo` must not happen twice. Throws only `StoreError`.
 */
export async function wasAnswered({ ledger }: IntakeContext, message: InboundMessage): Promise<boolean> {
  return !isAnsweredInPlace(message) && (await ledger.wasQueued(addressOf(message), replyRef(message)));
}

function isAnsweredInPlace({ channel, placeholder, button, answeredInPlace }: InboundMessage): boolean {
  return channel === 'http' || answeredInPlace === true || placeholder !== undefined || button !== undefined;
}

function replyRef({ channel, id }: InboundMessage): string {
  return `reply:${channel}:${id}`;
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
