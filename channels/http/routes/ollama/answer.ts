/** One answer as Ollama's clients read it: one JSON body, or a line of JSON for each piece (ollama/ollama, `api/types.go`). */
import type { ServerResponse } from 'node:http';
import type { TokenLogprob, ToolCall, Usage } from '../../../../src/protocol/agent/provider.ts';
import { bodyOf, type HttpError } from '../../errors.ts';
import type { EventStream } from '../../event-stream.ts';
import type { CompletionAnswer, FinishReason } from '../openai/completion-answer.ts';

/** What an answer says of itself in each piece. */
export interface AnswerHead {
  model: string;
  /** ISO 8601. */
  created_at: string;
}

/** A piece of an answer. */
interface Piece {
  text?: string;
  thinking?: string;
  calls?: readonly ToolCall[];
}

/** Where a route puts the pieces: in a message, or beside the head. */
export type PieceShape = (piece: Piece) => Record<string, unknown>;

/** `POST /api/chat`. */
export const chatPiece: PieceShape = (piece) => ({
  message: { role: 'assistant', content: piece.text ?? '', ...extrasOf(piece) },
});

/** `POST /api/generate`. */
export const generatedPiece: PieceShape = (piece) => ({ response: piece.text ?? '', ...extrasOf(piece) });

function extrasOf({ thinking, calls = [] }: Piece): Record<string, unknown> {
  return {
    ...(thinking !== undefined && { thinking }),
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ id, name, args }, index) => wireCall(id, index, name, args)),
    }),
  };
}

function wireCall(id: string, index: number, name: string, args: Record<string, unknown>) {
  return { id, function: { index, name, arguments: args } };
}

/** Writes a line for each piece to an open stream. */
export function linesAnswer(
  stream: EventStream,
  head: AnswerHead,
  shape: PieceShape,
  refuse: (error: HttpError) => void,
): CompletionAnswer {
  // The head is made once, not once per token.
  const begin = JSON.stringify(head).slice(0, -1);
  const write = (fields: Record<string, unknown>): void =>
    stream.write(`${begin},${JSON.stringify(fields).slice(1)}\n`);
  const piece = (one: Piece, more: Record<string, unknown> = {}): void =>
    write({ ...shape(one), done: false, ...more });
  return {
    whole: false,
    text: (delta, logprobs) =>
      piece({ text: delta }, logprobs === undefined ? {} : { logprobs: wireLogprobs(logprobs) }),
    thinking: (delta) => piece({ thinking: delta }),
    toolCall: (call) => piece({ calls: [call] }),
    textWasThinking: () => undefined,
    waiting: () => stream.write(' '),
    finish(reason, usage) {
      write({ ...shape({}), ...endOf(reason, usage) });
      stream.end();
    },
    fail(error) {
      if (!stream.begun) {
        refuse(error);
        return;
      }
      stream.write(`${JSON.stringify(bodyOf(error, '/api/'))}\n`);
      stream.end();
    },
  };
}

/** Collects the answer and sends it as one JSON body. */
export function jsonAnswer(
  outgoing: ServerResponse,
  head: AnswerHead,
  shape: PieceShape,
  refuse: (error: HttpError) => void,
): CompletionAnswer {
  let text = '';
  let thinking = '';
  const calls: ToolCall[] = [];
  let likelihoods: TokenLogprob[] | undefined;
  return {
    whole: true,
    text(delta, logprobs) {
      text += delta;
      if (logprobs !== undefined) (likelihoods ??= []).push(...logprobs);
    },
    thinking: (delta) => void (thinking += delta),
    toolCall: (call) => void calls.push(call),
    textWasThinking() {
      thinking += text;
      text = '';
    },
    waiting: () => undefined,
    finish(reason, usage) {
      const body = JSON.stringify({
        ...head,
        ...shape({ text, calls, ...(thinking !== '' && { thinking }) }),
        ...endOf(reason, usage),
        ...(likelihoods && { logprobs: wireLogprobs(likelihoods) }),
      });
      if (outgoing.destroyed || outgoing.headersSent) return;
      outgoing.writeHead(200, JSON_HEADERS).end(body);
    },
    fail: refuse,
  };
}

const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };

/**
 * The last piece. Model servers report one time for a whole call, which is that of generating here. Ollama ends with calls as
 * with a text.
 */
function endOf(reason: FinishReason, { promptTokens, completionTokens, modelMs }: Usage) {
  const nanoseconds = Math.round(modelMs * 1_000_000);
  return {
    done: true,
    done_reason: reason === 'tool_calls' ? 'stop' : reason,
    total_duration: nanoseconds,
    load_duration: 0,
    prompt_eval_count: promptTokens,
    prompt_eval_duration: 0,
    eval_count: completionTokens,
    eval_duration: nanoseconds,
  };
}

function wireLogprobs(tokens: readonly TokenLogprob[]) {
  return tokens.map(({ top, ...token }) => ({ ...token, top_logprobs: top }));
}
