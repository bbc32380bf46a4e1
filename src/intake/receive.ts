/** `receive`: refuses what is not allowed in, acts at once on buttons and commands, and commits every other message. */
import type { Verdict } from '../protocol/access.ts';
import type { ApprovalRecord } from '../protocol/agent/approvals.ts';
import { type Command, missingScope } from '../protocol/command.ts';
import { GatewayError, readerOf, StoreError, toGatewayError, wordError } from '../protocol/errors.ts';
import {
  addressOf,
  type InboundMessage,
  memoryOwnerOf,
  removalOf,
  type SessionKey,
  userIdOf,
} from '../protocol/message.ts';
import type { PressHandler, Receipt, Receive, ReceiveOptions } from '../protocol/receive.ts';
import type { Say } from '../protocol/texts/say.ts';
import { cleanText } from '../lib/text.ts';
import { accept } from './accept.ts';
import { createApprovalButtons } from './approvals/buttons.ts';
import { decideByReply } from './approvals/commands.ts';
import { answerByReply, createQuestionButtons } from './surfaces/answers.ts';
import { type CommandReader, readCommands } from './commands.ts';
import type { IntakeContext } from './context.ts';
import {
  createAgentButtons,
  createAnswerButtons,
  createAskAgain,
  handleEditOrReaction,
  isEditOrReaction,
} from './edits-and-reactions.ts';
import { observe, refuseBot, withoutText } from './group-talk.ts';
import { createRateLimiter, type RateLimiter, type RateVerdict } from './limits.ts';
import { checkPlanning } from './plans/modes.ts';
import { changePlanByReply } from './plans/plan-command.ts';
import { createPlanButtons } from './plans/plan-control.ts';
import {
  deliver,
  type Refusal,
  refuseByRule,
  refuseRate,
  refuseSender,
  reply,
  wasAnswered,
} from './replies.ts';
import { checkChoice, isAdmin, maySee, refuseReserved } from './sessions.ts';
import { createLinkButtons } from './surfaces/commands.ts';
import { createUndoButtons } from './undo/command.ts';
import { answerByNext, questionsTo } from './surfaces/next-answer.ts';

/** Longest message that is accepted, in UTF-16 units. */
export const MAX_MESSAGE_LENGTH = 100_000;

/** Makes `receive`. It throws only a retryable `StoreError`: then the channel must not acknowledge. */
export function createReceive(context: IntakeContext, commands: readonly Command[]): Receive {
  const limit = createRateLimiter(
    () => performance.now(),
    () => context.settings.current().limits,
  );
  const readCommand = readCommands(commands);
  const buttons = pressHandlers(context);
  return async function receive(raw, options = {}) {
    const cleaned = { ...raw, content: cleanText(raw.content) };
    const [verdict, language] = await Promise.all([
      authorize(context, cleaned, options),
      context.languages.languageOf(userIdOf(raw), raw.language),
    ]);
    const message = { ...cleaned, language };
    if (isEditOrReaction(message)) return await handleEditOrReaction(context, message, verdict);
    if (verdict.kind === 'observe') return await observe(context, message);
    const say = context.languages.say(message);
    if (verdict.kind !== 'allow') return await reply(context, message, refuseSender(verdict, say));
    const taken = await refuseNamed(context, message, options);
    if (taken !== undefined) return await reply(context, message, taken);
    if (message.fromBot === true) return await receiveBot(context, message, options);
    const [questions] = await Promise.all([questionsTo(context, message), noteSender(context, raw, message)]);
    if (message.button !== undefined) {
      const answer = await press(context, buttons, message, message.button, verdict.owner);
      return await reply(context, message, answer);
    }
    const use = isText(message, options) ? undefined : readCommand(message.content);
    const isFree = isUnlimited(use);
    const refusal = isFree ? undefined : refuseContent(message, say);
    if (refusal !== undefined) return await reply(context, message, refusal);
    const rate = await rateOf(context, message, verdict.owner || isFree, limit);
    if (!rate.allowed) return await reply(context, message, refuseRate(message, rate, say));
    let receipt: Receipt;
    try {
      if (use !== undefined) receipt = await runCommand(context, use, message, options, verdict.owner);
      else
        receipt =
          (await actOnText(context, message, questions, verdict.owner)) ??
          (await refuseChosen(context, message, options)) ??
          (await accept(context, message, options, verdict.owner));
    } catch (error) {
      // The channel retries this message: it must count only once.
      rate.giveBack();
      throw error;
    }
    if (receipt.kind === 'duplicate') rate.giveBack();
    return await reply(context, message, receipt);
  };
}

function pressHandlers(context: IntakeContext): readonly PressHandler[] {
  return [
    createApprovalButtons(context.approvals),
    createQuestionButtons(context),
    createAskAgain(context),
    createAnswerButtons(context),
    createAgentButtons(context),
    createPlanButtons(context),
    createLinkButtons(context),
    createUndoButtons(context),
  ];
}

/** The person who asked in a thread need not name the bot again while no one else writes there. */
async function authorize(
  { accessPolicy, threads }: IntakeContext,
  message: InboundMessage,
  { caller }: ReceiveOptions,
): Promise<Verdict> {
  const verdict = await accessPolicy.authorize(message, caller);
  const isUnnamed =
    verdict.kind === 'observe' || (verdict.kind === 'deny' && verdict.why === 'not_mentioned');
  if (!isUnnamed || !(await threads.isFollowUp(message))) return verdict;
  return await accessPolicy.authorize({ ...message, mentioned: true }, caller);
}

/** A bot's text is not a command, and it gets no text except its answer: another bot would reply to it. */
async function receiveBot(
  context: IntakeContext,
  message: InboundMessage,
  options: ReceiveOptions,
): Promise<Receipt> {
  const refusal = refuseContent(message, context.languages.say(message));
  if (refusal !== undefined) return await reply(context, message, withoutText(refusal));
  const quiet = await refuseBot(context, message);
  if (quiet !== undefined) return await reply(context, message, quiet);
  return await reply(context, message, withoutText(await accept(context, message, options, false)));
}

/**
 * A forwarded message is not an instruction from its sender, a question asked again or asked of a person is not a command,
 * and outsiders have none.
 */
function isText({ forwarded, onBehalfOf }: InboundMessage, options: ReceiveOptions): boolean {
  const isQuestion = options.retryOf !== undefined || options.question !== undefined;
  return forwarded === true || onBehalfOf !== undefined || isQuestion;
}

/** `/stop` always acts: someone who wrote too much or too fast must be able to stop the result. */
function isUnlimited(use: ReturnType<CommandReader>): boolean {
  return use?.command.name === 'stop';
}

function refuseContent({ content, media }: InboundMessage, say: Say): Refusal | undefined {
  if (content.trim() === '' && media.length === 0) {
    return { kind: 'refused', code: 'empty', reply: say('refused.empty') };
  }
  if (content.length <= MAX_MESSAGE_LENGTH) return undefined;
  return { kind: 'refused', code: 'too_large', reply: say('refused.too_long', { most: MAX_MESSAGE_LENGTH }) };
}

/**
 * Counts a message, unless it is a repeat of an accepted one. Owners and clients over HTTP, which hold a token, are limited
 * only by the length of their queue.
 */
async function rateOf(
  { ledger }: IntakeContext,
  message: InboundMessage,
  isFree: boolean,
  limit: RateLimiter,
): Promise<RateVerdict> {
  const uncounted: RateVerdict = { allowed: true, giveBack: () => undefined };
  const { channel, senderId, timestamp } = message;
  if (isFree || channel === 'http') return uncounted;
  const rate = limit(`${channel}:${senderId}`, timestamp);
  return rate.allowed || !(await ledger.wasAccepted(message)) ? rate : uncounted;
}

async function sessionOf({ ledger }: IntakeContext, message: InboundMessage): Promise<SessionKey> {
  return message.sessionKey ?? (await ledger.sessionOf(addressOf(message)));
}

/**
 * What a text does that answers a question instead of starting a turn; undefined for any other. A forwarded text is not
 * its sender's own, so it does nothing; neither does a reply to a message that was deleted or that is hidden.
 */
async function actOnText(
  context: IntakeContext,
  message: InboundMessage,
  questions: readonly ApprovalRecord[],
  owner: boolean,
): Promise<Receipt | undefined> {
  if (questions.length > 0 && (await answerByNext(context, message, questions))) return { kind: 'handled' };
  const { replyTo, quoted, forwarded } = message;
  if (replyTo === undefined || quoted === undefined || forwarded === true) return undefined;
  const session = await sessionOf(context, message);
  const outcome =
    (await answerByReply(context, message)) ??
    (await decideByReply(context, message, session, owner)) ??
    (await changePlanByReply(context, message, session));
  return outcome === undefined ? undefined : { kind: 'handled', reply: outcome };
}

async function refuseChosen(
  context: IntakeContext,
  message: InboundMessage,
  options: ReceiveOptions,
): Promise<Refusal | undefined> {
  return await refuseByRule(context.languages.say(message), async () => {
    await checkChosen(context, message, options);
    if (options.entry !== 'plan') return;
    const session = await sessionOf(context, message);
    const { profileId } = options;
    const asker = { session, address: addressOf(message), userId: userIdOf(message), profileId };
    await checkPlanning(context, asker);
  });
}

/** Refuses a session that the settings name to a caller who is no admin. */
async function refuseNamed(
  context: IntakeContext,
  message: InboundMessage,
  { caller }: ReceiveOptions,
): Promise<Refusal | undefined> {
  if (caller === undefined) return undefined;
  const check = async () => refuseReserved(context, caller, addressOf(message));
  return await refuseByRule(context.languages.say(message), check);
}

/** Throws `GatewayError('forbidden')` for a profile or model of this message that the caller may not choose. */
async function checkChosen(
  context: IntakeContext,
  message: InboundMessage,
  { caller, profileId, model }: ReceiveOptions,
): Promise<void> {
  if (caller === undefined || isAdmin(caller) || (profileId === undefined && model === undefined)) return;
  const session = await context.ledger.session(await sessionOf(context, message));
  // A session of others is refused when the message is accepted; here nothing about it may leak.
  const visibleSession = session !== undefined && maySee(caller, session) ? session : undefined;
  await checkChoice(context, caller, visibleSession, { profileId, model });
}

/** Acts on a button; its effect is committed, and the reply is for the user who pressed it. */
async function press(
  context: IntakeContext,
  handlers: readonly PressHandler[],
  message: InboundMessage,
  value: string,
  owner: boolean,
): Promise<Receipt> {
  const { place, senderName, forms, fields } = message;
  const who = { userId: userIdOf(message), senderName, owner };
  const say = context.languages.say(message);
  const pressed = { value, address: addressOf(message), place, ...who, forms, fields, say };
  for (const handler of handlers) {
    const answer = await handler(pressed);
    if (answer === undefined) continue;
    if (answer.shownBy !== undefined) await removeCopy(context, message, answer.shownBy);
    const { forwarded, form, problems } = answer;
    if (forwarded === undefined) return { kind: 'handled', reply: answer.reply, form, problems };
    const { button: _button, buttonUnder: _under, placeholder: _placeholder, ...rest } = message;
    const question = { ...rest, content: forwarded.content, id: forwarded.id ?? rest.id };
    const receipt = await accept(context, question, forwarded.options, owner);
    // The person who pressed reads why it was refused; a repeated press gets the first answer again.
    const refusal = receipt.kind === 'refused' ? receipt.reply : undefined;
    return { kind: 'handled', reply: refusal ?? answer.reply };
  }
  return { kind: 'handled', reply: say('button.unknown') };
}

/** Runs a command; if it fails, the reply is the reason. */
async function runCommand(
  context: IntakeContext,
  { command, args }: NonNullable<ReturnType<CommandReader>>,
  message: InboundMessage,
  options: ReceiveOptions,
  owner: boolean,
): Promise<Receipt> {
  if (await wasAnswered(context, message)) return { kind: 'handled' };
  const address = addressOf(message);
  const session = await sessionOf(context, message);
  const record = options.caller && (await context.ledger.session(session));
  if (options.caller && record && !maySee(options.caller, record)) return { kind: 'refused', code: 'denied' };
  const missing = options.caller && missingScope(options.caller, command);
  const say = context.languages.say(message);
  if (missing !== undefined) return refuseCommand(command.name, missing, say);
  const { senderId, place } = message;
  const tokenId = options.caller?.tokenId;
  try {
    const memoryOwner = memoryOwnerOf(message);
    const who = { senderId, senderName: message.senderName, userId: userIdOf(message), owner, tokenId };
    const { profileId } = options;
    const call = { session, address, place, ...who, memoryOwner, profileId, args, say };
    const forwarded = await command.forward?.(call);
    const { personal } = command;
    if (forwarded === undefined) {
      const question = await command.ask?.(call);
      const answer = question?.text ?? (await command.run(call));
      const buttons = question && { buttons: question.buttons };
      return { kind: 'handled', reply: answer, ...buttons, ...(personal && { personal }) };
    }
    const turnOptions = { ...options, ...forwarded.options, openThread: undefined };
    const { content, prompt } = forwarded;
    const turnMessage = { ...message, content, ...(prompt && { prompt }) };
    return await accept(context, turnMessage, turnOptions, owner);
  } catch (error) {
    if (error instanceof StoreError || !(error instanceof GatewayError)) throw error;
    return { kind: 'handled', reply: wordError(error, readerOf({ owner, place }), say) };
  }
}

/** Says which scope the token lacks. The text does not reach the agent: its sender did not mean that. */
function refuseCommand(name: string, scope: string, say: Say): Refusal {
  return { kind: 'refused', code: 'forbidden', reply: say('refused.scope', { scope, name }) };
}

/** Stores what is known of a sender and their chat, unless they write to someone else. Throws only `StoreError`. */
async function noteSender(
  context: IntakeContext,
  raw: InboundMessage,
  message: InboundMessage,
): Promise<void> {
  const { language = '', onBehalfOf } = message;
  if (onBehalfOf !== undefined) return;
  await Promise.all([noteLanguage(context, raw, language), context.noteContact(message)]);
}

/**
 * Stores the sender's language as the platform reports it, also for their private chat, where schedules and other
 * agents write. Throws only `StoreError`.
 */
async function noteLanguage(
  { languages }: IntakeContext,
  message: InboundMessage,
  language: string,
): Promise<void> {
  const [userId, address] = [userIdOf(message), addressOf(message)];
  await languages.notePlatform(userId, message.language);
  if (message.place === 'private' && message.channel !== 'http' && address !== userId)
    await languages.notePlatform(address, language);
}

/**
 * Removes the pressed message unless the delivery `ref` stored it. This goes through the chat's lane, so a send in
 * progress has its id stored by then. Never throws: the next press on the copy tries again.
 */
async function removeCopy(context: IntakeContext, pressed: InboundMessage, ref: string): Promise<void> {
  const { channel, chatId, buttonUnder: copy } = pressed;
  if (copy === undefined) return;
  try {
    const parts = await context.ledger.sentParts(ref);
    if (parts.some(({ id }) => id === copy.id)) return;
    await deliver(context, addressOf(pressed), removalOf(ref, pressed, [copy]));
    context.log.info({ channel, chatId, ref, messageId: copy.id }, 'copy_removed');
  } catch (error) {
    context.log.warn({ err: toGatewayError(error), channel, chatId, ref }, 'copy_not_removed');
  }
}
