/** The title of a session, made once after its first answer by the model that gave it. */
import type { AfterTurnWorker, EndedTurn } from '../turn/ended-turn.ts';
import { toGatewayError } from '../../contracts/errors.ts';
import { isAnswered } from '../../contracts/event.ts';
import type { ChatRequest } from '../../contracts/model/provider.ts';
import type { AgentShared } from '../deps.ts';
import { completeText } from '../model/complete-text.ts';
import { type Calling, modelBudget } from '../model/model-budget.ts';
import { fitPrompt } from '../prompt/context-window.ts';
import { promptStart } from '../prompt/system-prompt.ts';
import { estimateTokens } from '../../lib/tokens.ts';
import { firstWords, TITLE_REQUEST, titleIn } from './title-text.ts';

/** Tokens of the model's answer. */
const TITLE_TOKENS = 40;
/** Longest answer that is read, in UTF-16 units; the connection is closed after it. */
const MAX_ANSWER_CHARS = 2_000;

/** What a title is made and stored with. */
type Titling = Calling & Pick<AgentShared, 'ledger'>;

/** The model server is busy with turns: the session's next turn tries again. */
class Busy extends Error {}

/** Makes the worker. */
export function createTitleWorker(shared: Titling): AfterTurnWorker {
  return {
    name: 'title',
    givesWay: true,
    async run(turn, signal) {
      if (turn.title !== undefined || turn.userId === 'system') return [];
      if (!isAnswered(turn.reason) || turn.answer === '') return [];
      try {
        const title = await makeTitle(shared, turn, signal);
        const isNew = title !== '' && (await shared.ledger.titleSession(turn.sessionKey, title));
        return isNew ? [{ type: 'session_titled', title }] : [];
      } catch (error) {
        if (error instanceof Busy) return [];
        throw error;
      }
    },
  };
}

/** The model's title; the first words if it gives none in time. Throws `Busy`, or the signal's reason. */
async function makeTitle(shared: Titling, turn: EndedTurn, signal: AbortSignal): Promise<string> {
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
async function ask(shared: Titling, turn: EndedTurn, signal: AbortSignal): Promise<string> {
  const { sessionKey: session, userId } = turn;
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
    userId,
    temperature: 0.3,
    ...(can.thinking && { think: false }),
  };
  const busy = new AbortController();
  const note = { purpose: 'title' as const, session, userId, model };
  try {
    return await completeText(
      shared,
      {
        request,
        signal: AbortSignal.any([signal, busy.signal]),
        maxChars: MAX_ANSWER_CHARS,
        onUsage: (usage) => shared.ledger.noteUsage({ ...note, ...usage }),
      },
      // The call has to wait in a queue: it would be ahead of people's turns.
      (event) => event.type === 'notice' && event.code === 'model_busy' && busy.abort(),
    );
  } catch (error) {
    if (busy.signal.aborted) throw new Busy();
    throw error;
  }
}
