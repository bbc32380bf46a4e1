/** What receives an answer while it grows, for every API: from a turn of a session or from a call of the model. */
import type { ServerResponse } from 'node:http';
import type { OpaqueFields, TokenLogprob, ToolCall, Usage } from '../../../src/protocol/agent/provider.ts';
import type { HttpError } from '../errors.ts';
import type { EventStream } from '../event-stream.ts';

/** Reasons for the end of an answer, as OpenAI names them. */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

/** Sends an error instead of an answer. */
export type Refuse = (error: HttpError) => void;

/** Receives an answer while it grows; every method may be called after the client has disconnected. */
export interface AnswerWriter {
  /** Sends nothing before its end, so a text that is void may be taken back. */
  readonly whole: boolean;
  text: (delta: string, logprobs?: readonly TokenLogprob[]) => void;
  thinking: (delta: string) => void;
  /** All text so far was thinking. What a stream has sent stays where it is. */
  textWasThinking: () => void;
  toolCall: (call: ToolCall) => void;
  /** The turn is queued: pings the client. */
  waiting: () => void;
  /** Called once, last. `fields` are what the model's server wants back with the answer. */
  finish: (reason: FinishReason, usage: Usage, fields?: OpaqueFields) => void;
  /** The answer cannot be completed; called once, last, instead of `finish`. */
  fail: Refuse;
}

/** An answer as a whole. */
export interface WholeAnswer {
  text: string;
  thinking: string;
  calls: ToolCall[];
  logprobs: TokenLogprob[] | undefined;
  reason: FinishReason;
  usage: Usage;
  fields: OpaqueFields | undefined;
}

/** Collects an answer and sends it as one JSON body, which `bodyOf` makes of it. */
export function collectedAnswer(
  outgoing: ServerResponse,
  refuse: Refuse,
  bodyOf: (answer: WholeAnswer) => object,
  contentType = 'application/json',
): AnswerWriter {
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
    textWasThinking() {
      thinking += text;
      text = '';
    },
    toolCall: (call) => void calls.push(call),
    waiting: () => undefined,
    finish(reason, usage, fields) {
      sendWhole(
        outgoing,
        bodyOf({ text, thinking, calls, logprobs: likelihoods, reason, usage, fields }),
        contentType,
      );
    },
    fail: refuse,
  };
}

/** Aborts when the client leaves. */
export function disconnectSignal(outgoing: ServerResponse): AbortSignal {
  const controller = new AbortController();
  outgoing.once('close', () => controller.abort());
  return controller.signal;
}

/** Sends a body of JSON, unless something was sent already or the client has disconnected. */
export function sendWhole(outgoing: ServerResponse, body: object, contentType = 'application/json'): void {
  if (outgoing.destroyed || outgoing.headersSent) return;
  outgoing
    .writeHead(200, { 'content-type': contentType, 'cache-control': 'no-store' })
    .end(JSON.stringify(body));
}

/** What ends a stream with an error: as a whole answer if nothing was sent yet, else as its last frame. */
export function streamFailure(
  stream: EventStream,
  refuse: Refuse,
  write: (error: HttpError) => void,
): AnswerWriter['fail'] {
  return (error) => {
    if (!stream.begun) return refuse(error);
    write(error);
    return stream.end();
  };
}
