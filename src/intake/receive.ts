/** `receive`: refuses what may not come in, acts at once on buttons and commands, and commits every other message. */
import type { AccessPolicy, Verdict } from '../contracts/access.ts';
import type { Approvals } from '../contracts/approvals.ts';
import type { EventBus, MessageBus } from '../contracts/bus.ts';
import type { PressHandler } from '../contracts/receive.ts';
import type { Command } from '../contracts/command.ts';
import { GatewayError, StoreError } from '../contracts/errors.ts';
import type { Ledger } from '../contracts/ledger.ts';
import { cleanText } from '../lib/text.ts';
import type { Log } from '../contracts/log.ts';
import { addressOf, userIdOf } from '../contracts/message.ts';
import type { InboundMessage } from '../contracts/message.ts';
import type { Receipt, Receive, ReceiveOptions } from '../contracts/receive.ts';
import { createApprovalButtons } from './approval-commands.ts';
import { readCommands } from './commands.ts';
import type { CommandReader } from './commands.ts';
import { maySee } from './ownership.ts';
import { sendWaitingNotice } from './waiting-notice.ts';
import { createRateLimiter } from './rate-limiter.ts';

/** Longest message that is accepted, in UTF-16 units. */
export const MAX_MESSAGE_LENGTH = 100_000;

export interface IntakeDeps {
  /** The complete list. */
  commands: readonly Command[];
  approvals: Approvals;
  /** Handlers of buttons other than those of approval requests: the first that knows the button acts. */
  buttons?: readonly PressHandler[];
  accessPolicy: Pick<AccessPolicy, 'authorize'>;
  ledger: Ledger;
  bus: MessageBus;
  events: EventBus;
  log: Log;
  /** Milliseconds that never jump back. */
  monotonicNow: () => number;
}

type Refusal = Extract<Receipt, { kind: 'refused' }>;

/** Makes `receive`. It throws only a retryable `StoreError`: then the channel must not acknowledge. */
export function createReceive(deps: IntakeDeps): Receive {
  const limit = createRateLimiter(deps.monotonicNow);
  const readCommand = readCommands(deps.commands);
  return async (raw, options = {}) => {
    const message = { ...raw, content: cleanText(raw.content) };
    const verdict = await deps.accessPolicy.authorize(message, options.caller);
    if (verdict.kind !== 'allow') return await reply(deps, message, refuseSender(verdict));
    if (message.button !== undefined) {
      return await reply(deps, message, await press(deps, message, message.button, verdict.owner));
    }
    // A forwarded message is not an instruction of its sender.
    const use = message.forwarded === true ? undefined : readCommand(message.content);
    if (use !== undefined) {
      return await reply(deps, message, await runCommand(deps, use, message, options, verdict.owner));
    }
    const refusal = refuseContent(message) ?? refuseRate(message, limit);
    return await reply(deps, message, refusal ?? (await accept(deps, message, options)));
  };
}

/** Refuses a sender who has no access, or asks for pairing. */
function refuseSender({ kind, reply: text }: Exclude<Verdict, { kind: 'allow' }>): Refusal {
  const code = kind === 'pairing' ? 'pairing' : 'denied';
  return text === undefined ? { kind: 'refused', code } : { kind: 'refused', code, reply: text };
}

/** Refuses a message without text, or with too much of it. */
function refuseContent({ content }: InboundMessage): Refusal | undefined {
  if (content.trim() === '') {
    return { kind: 'refused', code: 'empty', reply: 'I can only read text so far; this message had none.' };
  }
  if (content.length <= MAX_MESSAGE_LENGTH) return undefined;
  const text = `That message is too long: I accept up to ${MAX_MESSAGE_LENGTH} characters.`;
  return { kind: 'refused', code: 'too_large', reply: text };
}

/** Refuses a sender who writes too fast. Clients over HTTP hold a token: only the length of their queue limits them. */
function refuseRate(
  { channel, senderId, timestamp }: InboundMessage,
  limit: ReturnType<typeof createRateLimiter>,
): Refusal | undefined {
  if (channel === 'http') return undefined;
  const rate = limit(`${channel}:${senderId}`, timestamp);
  if (rate.allowed) return undefined;
  if (!rate.tellUser) return { kind: 'refused', code: 'rate_limited' };
  const seconds = Math.ceil(rate.retryAfterMs / 1_000);
  const text = `That was too fast, so I did not accept it. Please send it again in ${seconds} s.`;
  return { kind: 'refused', code: 'rate_limited', reply: text };
}

/** Acts on a button; its effect is committed, and the reply is for the user who pressed it. */
async function press(
  deps: IntakeDeps,
  message: InboundMessage,
  value: string,
  owner: boolean,
): Promise<Receipt> {
  const { place, senderName } = message;
  const pressed = { value, address: addressOf(message), place, userId: userIdOf(message), senderName, owner };
  for (const handler of [createApprovalButtons(deps.approvals), ...(deps.buttons ?? [])]) {
    const reply = await handler(pressed);
    if (reply !== undefined) return { kind: 'handled', reply };
  }
  return { kind: 'handled', reply: 'This button is unknown. Nothing was changed.' };
}

/** Runs a command; the reason why it failed is the reply. */
async function runCommand(
  deps: IntakeDeps,
  { command, args }: NonNullable<ReturnType<CommandReader>>,
  message: InboundMessage,
  options: ReceiveOptions,
  owner: boolean,
): Promise<Receipt> {
  const address = addressOf(message);
  const session = message.sessionKey ?? (await deps.ledger.sessionOf(address));
  const record = options.caller && (await deps.ledger.session(session));
  if (options.caller && record && !maySee(options.caller, record)) return { kind: 'refused', code: 'denied' };
  const { senderId, place } = message;
  const tokenId = options.caller?.tokenId;
  try {
    const who = { senderId, senderName: message.senderName, userId: userIdOf(message), owner, tokenId };
    const call = { session, address, place, ...who, args };
    return { kind: 'handled', reply: await command.run(call) };
  } catch (error) {
    if (error instanceof StoreError || !(error instanceof GatewayError)) throw error;
    return { kind: 'handled', reply: error.message };
  }
}

/** Commits the message (T1), then emits its events and runs its lane. */
async function accept(deps: IntakeDeps, message: InboundMessage, options: ReceiveOptions): Promise<Receipt> {
  const accepted = await deps.ledger.accept({
    message,
    address: addressOf(message),
    entry: options.entry ?? 'runStream',
    model: options.model,
    profileId: options.profileId,
    mode: options.mode,
    ownerTokenId: options.caller?.tokenId,
    anyOwner: options.caller?.scopes.includes('admin'),
    node: deps.bus.claimingNode('in'),
  });
  if (accepted.kind === 'foreign') return { kind: 'refused', code: 'denied' };
  if (accepted.kind === 'full') {
    return {
      kind: 'refused',
      code: 'queue_full',
      reply: `${accepted.limit} of your messages are still waiting, so this one was not accepted. Send /stop to drop them.`,
    };
  }
  const { session, turnId, laneSeq, seq } = accepted;
  const { channel, chatId } = message;
  const { kind } = accepted;
  deps.log.debug({ channel, chatId, sessionKey: session, turnId, laneSeq }, `message_${kind}`);
  if (accepted.kind === 'duplicate') return { kind: 'duplicate', turnId, seq };
  deps.events.emit(session, {
    type: 'message_received',
    content: message.content,
    seq,
    senderName: message.senderName,
  });
  if (accepted.position > 0)
    deps.events.emit(session, { type: 'queue_position', position: accepted.position });
  deps.bus.runHeads(accepted);
  if (accepted.interrupts) deps.bus.notifyStop(`in:${session}`);
  if (accepted.position > 0) await sendWaitingNotice(deps, message, session);
  return { kind: 'accepted', turnId, seq, position: accepted.position };
}

/**
 * Logs a refusal and gives the receipt for the channel. A text for the sender is queued as a delivery, so that it is
 * not lost; where the channel answers in place (HTTP, a Discord interaction, a pressed button) it stays in the receipt.
 */
async function reply(deps: IntakeDeps, message: InboundMessage, receipt: Receipt): Promise<Receipt> {
  const { channel, chatId, threadId } = message;
  if (receipt.kind === 'refused') deps.log.info({ channel, chatId, code: receipt.code }, 'message_refused');
  if (!('reply' in receipt) || receipt.reply === undefined) return receipt;
  const answersInPlace = channel === 'http' || message.placeholder !== undefined;
  if (answersInPlace || message.button !== undefined) return receipt;
  const { reply: content, ...rest } = receipt;
  const outbound = { channel, chatId, threadId, content, replyTo: undefined, media: [], buttons: [] };
  const delivery = { ref: `reply:${channel}:${message.id}`, message: outbound };
  deps.bus.runHeads(await deps.ledger.enqueue(addressOf(message), delivery, deps.bus.claimingNode('out')));
  return rest;
}
