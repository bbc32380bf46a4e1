/** A person who was asked for someone else and writes on in that private chat: their next message is the answer. */
import {
  ANSWER_UNDO_MS,
  type ApprovalRecord,
  answerRef,
  approvalRef,
  MAX_ANSWER_CHARS,
  questionButton,
} from '../../protocol/agent/approvals.ts';
import {
  addressOf,
  type Button,
  chatOf,
  type InboundMessage,
  parseAddress,
  userIdOf,
} from '../../protocol/message.ts';
import type { Press, PressAnswer } from '../../protocol/receive.ts';
import { clipEnd, oneLine, visibleText } from '../../lib/text.ts';
import type { IntakeContext } from '../context.ts';
import { deliver } from '../replies.ts';

/** Longest name and longest part of a question in the note, in UTF-16 units. */
const MAX_NAME = 60;
const MAX_QUESTION = 80;

/** A message as what decides a request. */
export function deciding({ channel, id }: Pick<InboundMessage, 'channel' | 'id'>): string {
  return `${channel}:${id}`;
}

/** True for a question that can still be answered. */
export function isWaiting({ state, expired }: ApprovalRecord): boolean {
  return state === 'pending' && !expired;
}

/** The questions that this message may answer by being the next; none for one that is no plain text of a private chat. */
export async function questionsTo(
  { approvals }: Pick<IntakeContext, 'approvals'>,
  message: InboundMessage,
): Promise<ApprovalRecord[]> {
  return isPlainText(message) ? await approvals.questions({ userId: userIdOf(message) }) : [];
}

/** Over HTTP, programs write: there, a question is answered where it is shown. */
function isPlainText(message: InboundMessage): boolean {
  const { channel, place, content, media, replyTo, forwarded, fromBot, button } = message;
  const { placeholder, answeredInPlace } = message;
  const isInPlace = placeholder !== undefined || answeredInPlace === true;
  const isOwn = forwarded !== true && fromBot !== true && button === undefined && replyTo === undefined;
  const isText = media.length === 0 && content.trim() !== '' && content.trim().length <= MAX_ANSWER_CHARS;
  return channel !== 'http' && place === 'private' && isOwn && isText && !isInPlace;
}

/**
 * Takes the message as the answer to the newest of the questions that was on screen in its chat when it was written, and says so with a
 * button that takes it back; false if there is none. A repeat of the message is recognized. Throws only `StoreError`.
 */
export async function answerByNext(
  context: IntakeContext,
  message: InboundMessage,
  questions: readonly ApprovalRecord[],
): Promise<boolean> {
  const [address, decidedIn] = [addressOf(message), deciding(message)];
  const say = context.languages.say(message);
  const repeated = questions.find((one) => one.decidedIn === decidedIn);
  if (repeated !== undefined) {
    if (repeated.state === 'approved') await sendNote(context, message, repeated, [], []);
    return true;
  }
  const open = questions.filter(
    (one) =>
      isWaiting(one) &&
      one.replyOnly !== true &&
      one.question?.address === address &&
      isAfter(message.timestamp, one.createdAt),
  );
  for (const one of open) {
    if (!(await context.ledger.maybeSent(address, approvalRef(one.id)))) continue;
    const by = { userId: userIdOf(message), name: message.senderName, owner: false };
    const answer = { reason: message.content.trim(), message: decidedIn, undoMs: ANSWER_UNDO_MS };
    const outcome = await context.approvals.decide(one.id, 'approved', by, answer);
    // It was answered or has ended at the same moment: the next one.
    if (outcome.kind !== 'decided') continue;
    const undo: Button = { label: say('ask.undo'), value: questionButton(one.id, 'undo') };
    await sendNote(context, message, one, [undo], open.slice(open.indexOf(one) + 1));
    return true;
  }
  return false;
}

/**
 * True if a reply is taken as one to this question, whose ids are not stored yet: it is being sent, or its node has died. Throws only
 * `StoreError`.
 */
export async function isReplyToUnstored(
  { ledger }: Pick<IntakeContext, 'ledger'>,
  message: InboundMessage,
  record: ApprovalRecord,
): Promise<boolean> {
  const address = addressOf(message);
  const isHere =
    isWaiting(record) && record.question?.address === address && isAfter(message.timestamp, record.createdAt);
  return isHere && (await ledger.maybeSent(address, approvalRef(record.id)));
}

/**
 * True for a reply to a message that quotes this text and that no delivery has stored: a killed process has sent the request of this time
 * once more than it knew. Throws only `StoreError`.
 */
export async function isReplyToCopy(
  { ledger }: Pick<IntakeContext, 'ledger'>,
  message: InboundMessage,
  text: string,
  createdAt: Date,
): Promise<boolean> {
  const { replyTo, quoted } = message;
  if (replyTo === undefined || quoted?.by !== 'bot' || quoted.sentAt === undefined) return false;
  if (!isAfter(quoted.sentAt, createdAt) || !quoted.text.includes(text)) return false;
  return (await ledger.sentAmong([replyTo], chatOf(addressOf(message)))).length === 0;
}

/** True for a message of this time (epoch milliseconds; platforms give whole seconds) that may be from after a request. */
export function isAfter(timestamp: number, createdAt: Date): boolean {
  return timestamp + 1_000 > createdAt.getTime();
}

/** Says to whom the message went; with a button, how to take it back; and who else still waits for an answer. */
async function sendNote(
  context: IntakeContext,
  message: InboundMessage,
  { id, question }: ApprovalRecord,
  buttons: Button[],
  others: readonly ApprovalRecord[],
): Promise<void> {
  const { channel, chatId, threadId, language } = message;
  const say = context.languages.say(message);
  const [next] = others;
  const text = clipEnd(oneLine(visibleText(question?.text ?? '')), MAX_QUESTION).replaceAll('`', "'");
  const lines = [
    say('ask.sent_to', { who: nameOf(question), question: `\`${text}\`` }),
    ...(buttons.length === 0 ? [] : [say('ask.undo_how', { count: ANSWER_UNDO_MS / 1_000 })]),
    ...(next === undefined ? [] : [say('ask.waits_too', { who: nameOf(next.question) })]),
  ];
  await deliver(context, addressOf(message), {
    ref: answerRef(id),
    message: { channel, chatId, threadId, content: lines.join('\n\n'), media: [], buttons, language },
  });
}

function nameOf(question: ApprovalRecord['question']): string {
  const name = clipEnd(oneLine(visibleText(question?.asker ?? '')), MAX_NAME);
  return `\`${name.replaceAll('`', "'")}\``;
}

/** Takes the answer back, once: the text goes on as a message to the bot, and the question stays open for a reply. */
export async function undoAnswer(context: IntakeContext, id: string, press: Press): Promise<PressAnswer> {
  const { address, userId, say } = press;
  const content = await context.approvals.undoAnswer(id, { userId });
  if (content === undefined) return { reply: say('ask.undo_late') };
  const ref = answerRef(id);
  const note = { ...parseAddress(address), content: say('ask.undone'), media: [], buttons: [] };
  await deliver(context, address, { ref, key: `${ref}:undone`, message: note });
  return { reply: say('ask.undone'), forwarded: { content, id: `undo:${id}`, options: {} } };
}
