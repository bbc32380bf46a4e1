/** The title of a session, made once after its first answer by the model that gave it. */
import { type AfterTurnWorker, callForWorker, type EndedTurn } from './after-turn.ts';
import { toGatewayError } from '../../protocol/errors.ts';
import { isAnswered } from '../../protocol/event.ts';
import type { ChatRequest } from '../../protocol/agent/provider.ts';
import type { AgentShared } from '../deps.ts';
import { modelBudget } from '../model/model-budget.ts';
import { fitPrompt } from '../prompt/context-window.ts';
import { promptStart } from '../prompt/system-prompt.ts';
import { estimateTokens, oneLine, stripEnd } from '../../lib/text.ts';

/** Longest title that the gateway itself makes; people may write longer ones (`MAX_TITLE_CHARS`). */
const MADE_CHARS = 60;

/**
 * The request for a title: it follows the conversation, as the model has read it, so that a server with one slot need not
 * read the conversation again, neither for the title nor for the next turn.
 */
export const TITLE_REQUEST =
  'The gateway needs a title for the conversation above, for a list of conversations. Write what it is about, in its own ' +
  'language, in at most six words: no quotation marks, no markup, no full stop. Write the title and nothing else, and call no tool.';

/** Tokens of the model's answer. */
const TITLE_TOKENS = 40;
/** Longest answer that is read, in UTF-16 units; the connection is closed after it. */
const MAX_ANSWER_CHARS = 2_000;

/** The model server is busy with turns: the session's next turn tries again. */
class Busy extends Error {}

/** Makes the worker. */
export function createTitleWorker(shared: AgentShared): AfterTurnWorker {
  return {
    name: 'title',
    givesWay: true,
    async run(turn, signal) {
      if (turn.title !== undefined || turn.userId === 'system') return [];
      if (!isAnswered(turn.reason) || turn.answer === '') return [];
      try {
        const title = await makeTitle(shared, turn, signal);
        const isNew = title !== '' && (await shared.stores.ledger.titleSession(turn.sessionKey, title));
        return isNew ? [{ type: 'session_titled', title }] : [];
      } catch (error) {
        if (error instanceof Busy) return [];
        throw error;
      }
    },
  };
}

/** The model's title; the first words if it gives none in time. Throws `Busy`, or the signal's reason. */
async function makeTitle(shared: AgentShared, turn: EndedTurn, signal: AbortSignal): Promise<string> {
  const words = firstWords(turn.said) || firstWords(turn.answer);
  try {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(shared.limits.titleMs)]);
    return titleIn(await ask(shared, turn, limited)) || words;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof Busy) throw error;
    turn.log.info({ err: toGatewayError(error) }, 'title_from_first_words');
    return words;
  }
}

/**
 * One small call of the model that answered, with the same window and the same start of the prompt, so that the server
 * neither reloads the model nor reads the conversation again.
 */
async function ask(shared: AgentShared, turn: EndedTurn, signal: AbortSignal): Promise<string> {
  const { model, can, contextWindow, budget, toolLimit } = await modelBudget(shared, { ...turn, signal });
  const { system, tools } = promptStart(turn, can, toolLimit);
  const room = budget - tools.tokens - estimateTokens(TITLE_REQUEST);
  const { messages } = fitPrompt({ system, ...turn.conversation() }, room);
  const request: ChatRequest = {
    model,
    messages: [...messages, { role: 'user', content: TITLE_REQUEST }],
    contextWindow,
    ...(tools.schemas.length > 0 && { tools: tools.schemas }),
    maxTokens: TITLE_TOKENS,
    userId: turn.userId,
    temperature: 0.3,
    ...(can.thinking && { think: false }),
  };
  const busy = new AbortController();
  const limited = AbortSignal.any([signal, busy.signal]);
  try {
    return await callForWorker(
      shared,
      'title',
      turn,
      { request, signal: limited, maxChars: MAX_ANSWER_CHARS },
      // The call has to wait in a queue: it would be ahead of people's turns.
      (event) => event.type === 'notice' && event.code === 'model_busy' && busy.abort(),
    );
  } catch (error) {
    if (busy.signal.aborted) throw new Busy();
    throw error;
  }
}

/** The title in a model's answer: its first line without markup, quotation marks and a heading such as "Title:". Empty when it has none. */
export function titleIn(answer: string): string {
  const lines = answer.split('\n').map((line) =>
    oneLine(line)
      .replaceAll(/[*_`~#<>|[\]\\]/g, '')
      .trim()
      .replace(/^title\s*:\s*/i, '')
      .replaceAll(/^["'“”„«»‘’「」]+|["'“”„«»‘’「」]+$/g, ''),
  );
  const line = lines.find((one) => /[\p{L}\p{N}\p{Extended_Pictographic}]/u.test(one)) ?? '';
  return shorten(stripEnd(line.trim(), '.').trim());
}

/** The first words of a message as a title; empty when it has none. */
export function firstWords(message: string): string {
  return shorten(oneLine(message));
}

/** At most `MADE_CHARS`, cut between words if there are any. */
function shorten(line: string): string {
  if (line.length <= MADE_CHARS) return line;
  const head = cut(line, MADE_CHARS - 1);
  const space = line.charAt(MADE_CHARS - 1) === ' ' ? head.length : head.lastIndexOf(' ');
  return `${(space > MADE_CHARS / 2 ? head.slice(0, space) : head).trimEnd()}…`;
}

/** Never half of a surrogate pair. */
function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  const end = /[\uD800-\uDBFF]/.test(text.charAt(max - 1)) ? max - 1 : max;
  return text.slice(0, end);
}
