/** What users send and what the model answers in a crash run: both derive from the seed, so a run can be reproduced. */
import { SUMMARY_INSTRUCTION } from '../../src/agent/after-turn/compress.ts';
import type { FakeToolCall, Reply, ChatBody } from '../fakes/ollama/ollama.ts';
import { PLAN_EFFECTS, PLANNED, plannedReply } from './planned.ts';
import { lastUserText, messagesWithoutNotes } from '../fakes/model/spoken-text.ts';

/** One sent message: the `index`-th of a session, counted from 0. */
export interface TextRef {
  session: string;
  index: number;
  /** `s03#12`: appears in the question, in the answer and nowhere else. */
  id: string;
  text: string;
}

/** The effects of one model answer's tool calls, such as `['pure', 'unsafe']`. */
export type Round = string[];

/** How a third of the questions use tools by default; the others use none. */
const TOOL_ROUNDS: Round[][] = [
  [['unsafe']],
  [['idempotent']],
  [['pure', 'unsafe']],
  [['unsafe'], ['idempotent']],
];
/** Tokens a second of every answer. */
const TOKENS_PER_SECOND = 25;
/** Every summary, which takes a moment to generate. */
const SUMMARY = ['Questions ', 'were ', 'asked ', 'and ', 'answered', '.'];
const FEWEST_WORDS = 8;
const MOST_WORDS = 28;

/** A generator of numbers in [0, 1): the same for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The `index`-th message of the `session`-th session. */
export function messageAt(
  seed: number,
  session: number,
  index: number,
  tools: readonly Round[][] = TOOL_ROUNDS,
): TextRef {
  const random = seeded(seed * 1_000_003 + session * 1_009 + index);
  const name = `s${String(session).padStart(2, '0')}`;
  const id = `${name}#${index}`;
  const rounds = (session + index) % 3 === 0 ? (tools[Math.floor(random() * tools.length)] ?? []) : [];
  const words = FEWEST_WORDS + Math.floor(random() * (MOST_WORDS - FEWEST_WORDS));
  const plan = rounds.map((round) => round.join('+')).join('/') || 'none';
  return { session: name, index, id, text: questionText(name, index, plan, words) };
}

/** The text of a message whose turn uses these tools, and whose answer has this many words. */
export function questionText(session: string, index: number, tools: string, words = FEWEST_WORDS): string {
  return `Question ${session}#${index} tools=${tools} words=${words} please`;
}

/** A question parsed from its text; undefined for any other text. */
export interface Question {
  id: string;
  session: string;
  index: number;
  rounds: Round[];
  words: number;
}

export function readQuestion(text: string): Question | undefined {
  const found = /Question ((s\d+)#(\d+)) tools=(\S+) words=(\d+)/.exec(text);
  if (found === null) return undefined;
  const [, id = '', session = '', index = '', plan = '', words = ''] = found;
  const rounds = plan === 'none' ? [] : plan.split('/').map((round) => round.split('+'));
  return { id, session, index: Number(index), rounds, words: Number(words) };
}

/** True for a request to summarize earlier questions. */
export function isSummary({ messages }: ChatBody): boolean {
  return messages.at(-1)?.content.startsWith(SUMMARY_INSTRUCTION) === true;
}

/**
 * The question that a request is about; undefined for a summary of earlier ones. Earlier questions whose turns failed stand
 * before it in the same message, because they have no answer that would separate them.
 */
export function questionOf(body: ChatBody): Question | undefined {
  if (isSummary(body)) return undefined;
  return lastUserText(body)
    .split('\n\n')
    .flatMap((part) => readQuestion(part) ?? [])
    .at(-1);
}

/** The answer of the scripted model: the rounds of tools first, one for each answer it has given before, then the text. */
export function scriptedAnswer(body: ChatBody): Reply {
  if (isSummary(body)) return { text: [...SUMMARY], perSecond: TOKENS_PER_SECOND };
  const question = questionOf(body);
  if (question === undefined) {
    const text = lastUserText(body);
    // A subagent in the background takes long enough to be killed in.
    return {
      text: `echo: ${text}`,
      ...(text.startsWith('Look after') && { perSecond: TOKENS_PER_SECOND / 5 }),
    };
  }
  const planned = plannedReply(body, question.id, isPlanned(question));
  if (planned !== undefined) return { ...planned, perSecond: TOKENS_PER_SECOND };
  if (isPlanned(question)) return { text: answerTokens(question), perSecond: TOKENS_PER_SECOND };
  const messages = messagesWithoutNotes(body.messages);
  const asked = messages.findLastIndex((message) => message.role === 'user');
  const done = messages.slice(asked).filter((message) => message.role === 'assistant').length;
  const round = question.rounds[done];
  if (round === undefined) {
    return { text: answerTokens(question), perSecond: TOKENS_PER_SECOND };
  }
  return {
    text: [`step ${done + 1} of ${question.id}.`],
    toolCalls: round.map((effect) => callOf(effect, question)),
    perSecond: TOKENS_PER_SECOND,
  };
}

/** A probe of this effect; `agent` is a subagent, which only repeats its task, `card` one in the background; `ask` asks a person. */
function callOf(effect: string, { id, session }: Question): FakeToolCall {
  switch (effect) {
    case 'agent':
      return { name: 'spawn_agent', args: { task: `Look after ${id}` } };
    case 'card':
      return { name: 'spawn_agent', args: { task: `Look after ${id} in peace`, background: true } };
    case 'ask':
      return {
        name: 'ask',
        args: { to: `telegram:${friendOf(session)}`, question: `Asked for ${id}: well?` },
      };
    default:
      return { name: `${effect}_probe`, args: { word: id } };
  }
}

/** The person on Telegram whom the questions of a session ask. */
export function friendOf(session: string): string {
  return String(7_200 + Number(session.slice(1)));
}

/** The ids of all questions in a request, in order. */
export function questionsIn({ messages }: ChatBody): string[] {
  const said = messages.filter(({ role }) => role === 'user').map(({ content }) => content);
  return [...said.join('\n').matchAll(/Question (s\d+#\d+) tools=/g)].map(([, id = '']) => id);
}

function isPlanned({ rounds }: Question): boolean {
  return rounds.flat().includes(PLANNED);
}

/** The effects that a question may have, each as often as listed here. */
export function effectsOf({ rounds }: Question): string[] {
  return rounds.flat().flatMap((effect) => (effect === PLANNED ? PLAN_EFFECTS : [effect]));
}

function answerTokens({ id, words }: Question): string[] {
  return [`answer to ${id}: `, ...Array.from({ length: words }, (_, at) => `word${at} `), `end of ${id}.`];
}

/** Exactly what users must read in the end. */
export function wholeAnswer(question: Question): string {
  if (isPlanned(question)) return answerTokens(question).join('');
  const steps = question.rounds.map((_, at) => `step ${at + 1} of ${question.id}.`);
  return [...steps, answerTokens(question).join('')].join('\n\n');
}
