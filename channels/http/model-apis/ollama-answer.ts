/** One answer as Ollama's clients read it: one JSON body, or a line of JSON for each piece (ollama/ollama, `api/types.go`). */
import type { ServerResponse } from 'node:http';
import type { TokenLogprob, ToolCall, Usage } from '../../../src/protocol/agent/provider.ts';
import { bodyOf } from '../errors.ts';
import type { EventStream } from '../event-stream.ts';
import {
  type AnswerWriter,
  collectedAnswer,
  type FinishReason,
  type Refuse,
  streamFailure,
} from './answer.ts';

/** What an answer says of itself in each piece. */
export interface AnswerHead {
  model: string;
  /** ISO 8601. */
  created_at: string;
}

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
  refuse: Refuse,
): AnswerWriter {
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
    fail: streamFailure(stream, refuse, (error) =>
      stream.write(`${JSON.stringify(bodyOf(error, '/api/'))}\n`),
    ),
  };
}

/** Sends the answer as one JSON body. */
export function jsonAnswer(
  outgoing: ServerResponse,
  head: AnswerHead,
  shape: PieceShape,
  refuse: Refuse,
): AnswerWriter {
  return collectedAnswer(
    outgoing,
    refuse,
    ({ text, thinking, calls, logprobs, reason, usage }) => ({
      ...head,
      ...shape({ text, calls, ...(thinking !== '' && { thinking }) }),
      ...endOf(reason, usage),
      ...(logprobs && { logprobs: wireLogprobs(logprobs) }),
    }),
    'application/json; charset=utf-8',
  );
}

/** The last piece. Model servers report one time for the whole call, here that of generating; calls end as texts do. */
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
