/** `receive`: refuses what is not allowed in, acts at once on buttons and commands, and commits every other message. */
import type { AccessPolicy } from '../protocol/access.ts';
import type { Approvals } from '../protocol/agent/approvals.ts';
import type { PressHandler, Receipt, Receive, ReceiveOptions } from '../protocol/receive.ts';
import { type Command, missingScope } from '../protocol/command.ts';
import { GatewayError, readerOf, StoreError, toGatewayError, wordError } from '../protocol/errors.ts';
import { cleanText } from '../lib/text.ts';
import {
  addressOf,
  type InboundMessage,
  memoryOwnerOf,
  removalOf,
  type SessionKey,
  userIdOf,
} from '../protocol/message.ts';
import { accept, type AcceptDeps } from './accept.ts';
import { createApprovalButtons } from './approvals/commands.ts';
import { checkChoice, type ChoiceDeps } from './choice.ts';
import type { MessageBus } from '../protocol/bus.ts';
import type { Ledger } from '../protocol/store/ledger.ts';
import type { Log } from '../protocol/log.ts';
import type { PersonLanguages } from '../protocol/texts/languages.ts';
import { type Refusal, refuseByRule, refuseRate, refuseSender } from './refused.ts';
import { reply } from './reply.ts';
import type { CheckPlanning } from './plans/planning-off.ts';
import { type CommandReader, readCommands } from './commands/commands.ts';
import { type GroupTalkDeps, observe, refuseBot, withoutText } from './groups/group-talk.ts';
import { actOnEarlier, type EarlierDeps, isAboutEarlier } from './questions/act-on-earlier.ts';
import { isAdmin, maySee } from './sessions/ownership.ts';
import {
  createRateLimiter,
  type MessageRate,
  type RateLimiter,
  type RateVerdict,
} from './limits/rate-limiter.ts';
import type { Say } from '../protocol/texts/say.ts';

/***
 * Duplicates of a message with buttons: a crash between a send and storing its id leaves one behind, which no one
 * edits.
 */
interface CopiesDeps {
  ledger: Pick<Ledger, 'sentParts' | 'enqueue'>;
  bus: Pick<MessageBus, 'claimingNode' | 'runHeads'>;
  log: Log;
}

/** Longest message that is accepted, in UTF-16 units. */
export const MAX_MESSAGE_LENGTH = 100_000;

export interface IntakeDeps
  extends ChoiceDeps, AcceptDeps, GroupTalkDeps, Omit<EarlierDeps, 'ledger' | 'bus'> {
  /** The complete list. */
  commands: readonly Command[];
  approvals: Approvals;
  /** Handlers of buttons other than those of approval requests: the first that knows the button acts. */
  buttons?: readonly PressHandler[];
  accessPolicy: Pick<AccessPolicy, 'authorize'>;
  languages: Pick<PersonLanguages, 'say' | 'languageOf' | 'notePlatform'>;
  /** Refuses a request for a plan if none can be made. Throws `GatewayError('planning_off')`. */
  checkPlanning: CheckPlanning;
  /** Applies changes to a plan in a reply to its card; undefined for any other message. */
  changeByReply(message: InboundMessage, session: SessionKey, owner: boolean): Promise<string | undefined>;
  /** How fast a sender may write; owners may always. */
  messageRate?: (() => MessageRate) | undefined;
  /** Monotonic milliseconds. */
  monotonicNow: () => number;
}

/** Makes `receive`. It throws only a retryable `StoreError`: then the channel must not acknowledge. */
export function createReceive(deps: IntakeDeps): Receive {
  const limit = createRateLimiter(deps.monotonicNow, deps.messageRate);
  const readCommand = readCommands(deps.commands);
  return async function receive(raw, options = {}) {
    const said = { ...raw, content: cleanText(raw.content) };
    const [verdict, language] = await Promise.all([
      deps.accessPolicy.authorize(said, options.caller),
      deps.languages.languageOf(userIdOf(raw), raw.language),
    ]);
    const message = { ...said, language };
    if (isAboutEarlier(message)) return await actOnEarlier(deps, message, verdict);
    if (verdict.kind === 'observe') return await observe(deps, message);
    const say = deps.languages.say(message);
    if (verdict.kind !== 'allow') return await reply(deps, message, refuseSender(verdict, say));
    if (message.fromBot === true) return await receiveBot(deps, message, options);
    await noteLanguage(deps.languages, raw, language);
    if (message.button !== undefined) {
      return await reply(deps, message, await press(deps, message, message.button, verdict.owner));
    }
    // A forwarded message is not an instruction from its sender, and a question asked again is not a command.
    const isText = message.forwarded === true || options.retryOf !== undefined;
    const use = isText ? undefined : readCommand(message.content);
    const isFree = isUnlimited(use);
    const refused = isFree ? undefined : refuseContent(message, say);
    if (refused !== undefined) return await reply(deps, message, refused);
    const rate = rateOf(message, verdict.owner || isFree, limit);
    if (!rate.allowed) return await reply(deps, message, refuseRate(rate, say));
    let receipt: Receipt;
    try {
      const changed = use === undefined ? await changeByReply(deps, message, verdict.owner) : undefined;
      if (use !== undefined) receipt = await runCommand(deps, use, message, options, verdict.owner);
      else if (changed !== undefined) receipt = { kind: 'handled', reply: changed };
      else
        receipt =
          (await refuseChosen(deps, message, options)) ??
          (await accept(deps, message, options, verdict.owner));
    } catch (error) {
      // The channel retries this message: it must count only once.
      rate.giveBack();
      throw error;
    }
    return await reply(deps, message, receipt);
  };
}

/** A bot's text is not a command, and it gets no text except its answer: another bot would reply to it. */
async function receiveBot(
  deps: IntakeDeps,
  message: InboundMessage,
  options: ReceiveOptions,
): Promise<Receipt> {
  const refused = refuseContent(message, deps.languages.say(message));
  if (refused !== undefined) return await reply(deps, message, withoutText(refused));
  const quiet = await refuseBot(deps, message);
  if (quiet !== undefined) return await reply(deps, message, quiet);
  return await reply(deps, message, withoutText(await accept(deps, message, options, false)));
}

/** `/stop` always acts: someone who wrote too much or too fast must be able to stop the result. */
function isUnlimited(use: ReturnType<CommandReader>): boolean {
  return use?.command.name === 'stop';
}

/** Refuses a message without text and files, or with too much text. */
function refuseContent({ content, media }: InboundMessage, say: Say): Refusal | undefined {
  if (content.trim() === '' && media.length === 0) {
    return { kind: 'refused', code: 'empty', reply: say('refused.empty') };
  }
  if (content.length <= MAX_MESSAGE_LENGTH) return undefined;
  return { kind: 'refused', code: 'too_large', reply: say('refused.too_long', { most: MAX_MESSAGE_LENGTH }) };
}

/** Counts a message. Owners and clients over HTTP, which hold a token, are limited only by the length of their queue. */
function rateOf(
  { channel, senderId, timestamp }: InboundMessage,
  isFree: boolean,
  limit: RateLimiter,
): RateVerdict {
  if (isFree || channel === 'http') return { allowed: true, giveBack: () => undefined };
  return limit(`${channel}:${senderId}`, timestamp);
}

async function sessionOf(
  { ledger }: Pick<IntakeDeps, 'ledger'>,
  message: InboundMessage,
): Promise<SessionKey> {
  return message.sessionKey ?? (await ledger.sessionOf(addressOf(message)));
}

/** A forwarded text is not its sender's own, so it changes nothing. */
async function changeByReply(
  deps: IntakeDeps,
  message: InboundMessage,
  owner: boolean,
): Promise<string | undefined> {
  if (message.replyTo === undefined || message.forwarded === true) return undefined;
  return await deps.changeByReply(message, await sessionOf(deps, message), owner);
}

/** Refuses a profile, a model or a plan that the caller may not ask for. */
async function refuseChosen(
  deps: IntakeDeps,
  message: InboundMessage,
  options: ReceiveOptions,
): Promise<Refusal | undefined> {
  return await refuseByRule(deps.languages.say(message), async () => {
    await checkChosen(deps, message, options);
    if (options.entry !== 'plan') return;
    const session = await sessionOf(deps, message);
    const { profileId } = options;
    const place = { session, address: addressOf(message), userId: userIdOf(message), profileId };
    await deps.checkPlanning(place);
  });
}

/** Throws `GatewayError('forbidden')` for a profile or model of this message that the caller may not choose. */
async function checkChosen(
  deps: IntakeDeps,
  message: InboundMessage,
  { caller, profileId, model }: ReceiveOptions,
): Promise<void> {
  if (caller === undefined || isAdmin(caller) || (profileId === undefined && model === undefined)) return;
  const session = await deps.ledger.session(await sessionOf(deps, message));
  // A session of others is refused when the message is accepted; here nothing about it may leak.
  const own = session !== undefined && maySee(caller, session) ? session : undefined;
  await checkChoice(deps, caller, own, { profileId, model });
}

/** Acts on a button; its effect is committed, and the reply is for the user who pressed it. */
async function press(
  deps: IntakeDeps,
  message: InboundMessage,
  value: string,
  owner: boolean,
): Promise<Receipt> {
  const { place, senderName, forms, fields } = message;
  const who = { userId: userIdOf(message), senderName, owner };
  const say = deps.languages.say(message);
  const pressed = { value, address: addressOf(message), place, ...who, forms, fields, say };
  for (const handler of [createApprovalButtons(deps.approvals), ...(deps.buttons ?? [])]) {
    const answer = await handler(pressed);
    if (answer === undefined) continue;
    if (answer.shownBy !== undefined) await removeCopy(deps, message, answer.shownBy);
    const { passedOn, form } = answer;
    if (passedOn === undefined) return { kind: 'handled', reply: answer.reply, form };
    const { button: _button, buttonUnder: _under, placeholder: _placeholder, ...rest } = message;
    const written = { ...rest, content: passedOn.content, id: passedOn.id ?? rest.id };
    const receipt = await accept(deps, written, passedOn.options, owner);
    // The person who pressed reads why it was refused; a repeated press gets the same answer as the first
    // one.
    return {
      kind: 'handled',
      reply: receipt.kind === 'refused' ? (receipt.reply ?? answer.reply) : answer.reply,
    };
  }
  return { kind: 'handled', reply: say('button.unknown') };
}

/** Runs a command; if it fails, the reply is the reason. */
async function runCommand(
  deps: IntakeDeps,
  { command, args }: NonNullable<ReturnType<CommandReader>>,
  message: InboundMessage,
  options: ReceiveOptions,
  owner: boolean,
): Promise<Receipt> {
  const address = addressOf(message);
  const session = await sessionOf(deps, message);
  const record = options.caller && (await deps.ledger.session(session));
  if (options.caller && record && !maySee(options.caller, record)) return { kind: 'refused', code: 'denied' };
  const missing = options.caller && missingScope(options.caller, command);
  const say = deps.languages.say(message);
  if (missing !== undefined) return refuseCommand(command.name, missing, say);
  const { senderId, place } = message;
  const tokenId = options.caller?.tokenId;
  try {
    const memoryOwner = memoryOwnerOf(message);
    const who = { senderId, senderName: message.senderName, userId: userIdOf(message), owner, tokenId };
    const { profileId } = options;
    const call = { session, address, place, ...who, memoryOwner, profileId, args, say };
    const passedOn = await command.passOn?.(call);
    const { personal } = command;
    if (passedOn === undefined)
      return { kind: 'handled', reply: await command.run(call), ...(personal && { personal }) };
    const asked = { ...options, ...passedOn.options, openThread: undefined };
    const { content, prompt } = passedOn;
    const begun = { ...message, content, ...(prompt && { prompt }) };
    return await accept(deps, begun, asked, owner);
  } catch (error) {
    if (error instanceof StoreError || !(error instanceof GatewayError)) throw error;
    return { kind: 'handled', reply: wordError(error, readerOf({ owner, place }), say) };
  }
}

/**
 * Says which scope a token lacks for a command. The text is not passed on to the agent: its sender did not mean that.
 */
function refuseCommand(name: string, scope: string, say: Say): Refusal {
  return { kind: 'refused', code: 'forbidden', reply: say('refused.scope', { scope, name }) };
}

/**
 * Stores what the platform reports about the sender, and the language they read for their private chat, where schedules
 * and other agents write, too. Throws only `StoreError`.
 */
async function noteLanguage(
  languages: Pick<PersonLanguages, 'notePlatform'>,
  message: InboundMessage,
  language: string,
): Promise<void> {
  const [userId, address] = [userIdOf(message), addressOf(message)];
  await languages.notePlatform(userId, message.language);
  if (message.place === 'private' && message.channel !== 'http' && address !== userId)
    await languages.notePlatform(address, language);
}

/**
 * Has the pressed message removed unless the delivery `ref` has stored it. This goes through the chat's lane: by then a
 * send in progress has its id stored. Never throws: the next press on the copy tries again.
 */
async function removeCopy(deps: CopiesDeps, pressed: InboundMessage, ref: string): Promise<void> {
  const { channel, chatId, buttonUnder: copy } = pressed;
  if (copy === undefined) return;
  try {
    const stored = await deps.ledger.sentParts(ref);
    if (stored.some(({ id }) => id === copy.id)) return;
    const removal = removalOf(ref, pressed, [copy]);
    deps.bus.runHeads(await deps.ledger.enqueue(addressOf(pressed), removal, deps.bus.claimingNode('out')));
    deps.log.info({ channel, chatId, ref, messageId: copy.id }, 'copy_removed');
  } catch (error) {
    deps.log.warn({ err: toGatewayError(error), channel, chatId, ref }, 'copy_not_removed');
  }
}
