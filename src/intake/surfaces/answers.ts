/** Answers to questions that the model asks a person for someone else: by a reply, a button with its form, or `/answer`. */
import {
  type Approvals,
  type Decided,
  type Decider,
  MAX_ANSWER_CHARS,
  NO_QUESTIONS,
  readQuestionButton,
} from '../../protocol/agent/approvals.ts';
import type { ChatSettingStore } from '../../protocol/channel.ts';
import { type Command, ON_OR_OFF } from '../../protocol/command.ts';
import { addressOf, type InboundMessage, userIdOf } from '../../protocol/message.ts';
import type { Form, Press, PressAnswer, PressHandler } from '../../protocol/receive.ts';
import type { Say } from '../../protocol/texts/say.ts';
import { visibleText } from '../../lib/text.ts';
import { deciderOf } from '../approvals/commands.ts';
import type { IntakeContext } from '../context.ts';
import { deciding, isReplyToCopy, isReplyToUnstored, isWaiting, undoAnswer } from './next-answer.ts';

const ANSWER = 'answer';

function answerForm(value: string, say: Say): Form {
  const field = { name: ANSWER, label: say('ask.your_answer'), description: say('ask.answer_help') };
  return {
    title: say('ask.answer'),
    value,
    fields: [{ ...field, maxLength: MAX_ANSWER_CHARS, lines: 'many', required: true }],
  };
}

/** Makes the handler of the buttons under a question. If a form can be shown, the answer is entered there. */
export function createQuestionButtons(context: IntakeContext): PressHandler {
  const { approvals } = context;
  return async (press) => {
    const pressed = readQuestionButton(press.value);
    if (pressed === undefined) return undefined;
    const { id, act } = pressed;
    if (act === 'undo') return await undoAnswer(context, id, press);
    const { address, place, userId, senderName, owner } = press;
    const by: Decider = { userId, name: senderName, owner, at: { address, place }, pressed: true };
    const decidable = await approvals.decidable(id, by);
    const isOpen = decidable.request !== undefined;
    const answer =
      act === 'answer'
        ? await pressAnswer(approvals, id, by, press, isOpen)
        : await pressRefusal(context, id, by, press, act);
    // A lost send may have left a second copy. While its form is open, nothing has been decided.
    return (isOpen || isOver(decidable.outcome)) && answer.form === undefined
      ? { ...answer, shownBy: await approvals.shownIn(id, address) }
      : answer;
  };
}

/** True where someone who may decide it has come too late. */
function isOver({ kind }: Decided): boolean {
  return kind === 'settled' || kind === 'expired';
}

async function pressAnswer(
  approvals: Approvals,
  id: string,
  by: Decider,
  { value, forms, fields, say }: Press,
  isOpen: boolean,
): Promise<PressAnswer> {
  if (fields !== undefined) return { reply: await answerWith(approvals, id, by, fields[ANSWER] ?? '', say) };
  if (isOpen && forms === true) return { reply: '', form: answerForm(value, say) };
  return { reply: isOpen ? say('ask.reply') : say('ask.over') };
}

async function pressRefusal(
  context: IntakeContext,
  id: string,
  by: Decider,
  { say }: Press,
  act: 'refuse' | 'never',
): Promise<PressAnswer> {
  const outcome = await refuseQuestion(context, id, by, act === 'never');
  if (outcome.kind === 'decided' && act === 'never') return { reply: say('ask.never_again') };
  return { reply: describeAnswered(outcome, say, 'ask.refused') };
}

/** Refuses a question, and with `isForAll` each later one. Throws only `StoreError`. */
export async function refuseQuestion(
  { approvals, store }: Pick<IntakeContext, 'approvals' | 'store'>,
  id: string,
  by: Decider,
  isForAll: boolean,
): Promise<Decided> {
  const outcome = await approvals.decide(id, 'denied', by);
  if (outcome.kind === 'decided' && isForAll)
    await store.chatSettings.setChatSetting(by.userId, NO_QUESTIONS, 'on');
  return outcome;
}

/** Passes an answer on; what the person who answered reads. Throws only `StoreError`. */
async function answerWith(
  approvals: Approvals,
  id: string,
  by: Decider,
  text: string,
  say: Say,
  message?: string,
): Promise<string> {
  const answer = text.trim();
  if (answer === '') return say('ask.empty');
  if (answer.length > MAX_ANSWER_CHARS) return say('ask.too_long', { most: MAX_ANSWER_CHARS });
  return describeAnswered(
    await approvals.decide(id, 'approved', by, { reason: answer, message }),
    say,
    'ask.answered',
  );
}

function describeAnswered(outcome: Decided, say: Say, done: 'ask.answered' | 'ask.refused'): string {
  switch (outcome.kind) {
    case 'decided':
      return say(done);
    case 'settled':
      return say(outcome.record.decidedBy === 'stop' ? 'ask.over' : 'ask.twice');
    case 'expired':
    case 'unknown':
      return say('ask.over');
    case 'bad_args':
    case 'elsewhere':
    case 'forbidden':
      return say('ask.not_you');
    default:
      return outcome satisfies never;
  }
}

/**
 * Takes a message that replies to a question as the answer; undefined if it replies to something else. Throws only
 * `StoreError`.
 */
export async function answerByReply(
  context: IntakeContext,
  message: InboundMessage,
): Promise<string | undefined> {
  const { approvals, ledger, languages } = context;
  const { replyTo, place, senderName, content } = message;
  if (replyTo === undefined || place !== 'private') return undefined;
  const [userId, address] = [userIdOf(message), addressOf(message)];
  for (const question of await approvals.questions({ userId })) {
    const { id, createdAt } = question;
    const parts = await ledger.sentParts(await approvals.shownIn(id, address));
    const text = visibleText(question.question?.text ?? '');
    const isReply =
      parts.length === 0
        ? await isReplyToUnstored(context, message, question)
        : parts.some((part) => part.id === replyTo) ||
          (await isReplyToCopy(context, message, text, createdAt));
    if (!isReply) continue;
    const by: Decider = { userId, name: senderName, owner: false, at: { address, place } };
    return await answerWith(approvals, id, by, content, languages.say(message), deciding(message));
  }
  return undefined;
}

/** Makes `/answer` and `/questions`. */
export function createAnswerCommands(approvals: Approvals, chatSettings: ChatSettingStore): Command[] {
  return [
    {
      name: 'answer',
      description: 'about.answer',
      scope: 'chat',
      argument: { name: ANSWER, label: 'word.answer', description: 'argument.answer', required: true },
      personal: true,
      async run(call) {
        const waiting = (await approvals.questions({ userId: call.userId })).filter(isWaiting);
        const [only, ...more] = waiting;
        if (only === undefined) return call.say('ask.nothing');
        if (more.length > 0) return call.say('ask.several');
        return await answerWith(approvals, only.id, deciderOf(call), call.args, call.say);
      },
    },
    {
      name: 'questions',
      description: 'about.questions',
      scope: 'chat',
      argument: ON_OR_OFF,
      personal: true,
      async run({ userId, args, say }) {
        const word = args.toLowerCase();
        if (word === 'on' || word === 'off')
          await chatSettings.setChatSetting(userId, NO_QUESTIONS, word === 'on' ? undefined : 'on');
        const isOff = (await chatSettings.chatSetting(userId, NO_QUESTIONS)) !== undefined;
        return say(isOff ? 'questions.off' : 'questions.on');
      },
    },
  ];
}
