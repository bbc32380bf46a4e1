/**
 * From the packets of an answer to its chunks: split into texts, each parsed once, each chunk passed on as it arrives.
 */
import { ProviderError } from '../../contracts/errors.ts';
import { textRef } from '../../contracts/texts/say.ts';
import type { ChatChunk } from '../../contracts/model/provider.ts';
import type { Answer } from './answer.ts';
import { createDocumentCollector } from './text-splitters.ts';
import type { TextSplitter } from './text-splitters.ts';

/** Reads the texts of one answer. Both methods throw `ProviderError`, which ends the answer. */
export interface AnswerReader {
  /** True once the closing record was read, even if more follows. */
  readonly complete: boolean;
  /** The chunks of a line, or of a whole document. */
  read(text: string): readonly ChatChunk[];
  /**
   * The chunks that are known only at the end of the answer, `done` last. Throws when the answer ended before it was
   * complete.
   */
  end(): readonly ChatChunk[];
}

/** Takes the markup out of an answer: thinking and tool calls that arrived as text. Never throws. */
export interface AnswerFilter {
  /** True for a text to pass on unchanged: nothing is open and nothing in it can start anything. */
  passes(text: string): boolean;
  /** What a chunk that did not pass becomes. */
  take(chunk: ChatChunk): readonly ChatChunk[];
  /** True once the model continued past the end of its own turn: what follows is not part of the answer. */
  readonly over: boolean;
}

/** One chat call. */
export interface ChatCall {
  /** Waits for a slot of the server and returns the function that releases it. Throws `ProviderError`. */
  acquire(): Promise<() => void>;
  /** Sends the request. */
  send(): Promise<Answer>;
  reader: AnswerReader;
  splitter: TextSplitter;
  filter: AnswerFilter;
  /** The error that the caller gets for whatever was thrown once the call had its slot. */
  toError(error: unknown): ProviderError;
}

/** How an answer ends when its model continued past the end of its turn. */
const OVER: ChatChunk = {
  type: 'done',
  finishReason: 'stop',
  usage: { promptTokens: 0, completionTokens: 0, modelMs: 0 },
};

/** Streams an answer from a server; when the reader stops, the call ends. Throws `ProviderError`. */
export async function* streamAnswer(call: ChatCall): AsyncGenerator<ChatChunk> {
  const { reader, splitter, filter } = call;
  const release = await call.acquire();
  let answer: Answer | undefined;
  try {
    answer = await call.send();
    while (!reader.complete) {
      const packet = await answer.read();
      for (const text of packet === undefined ? splitter.end() : splitter.push(packet)) {
        for (const chunk of reader.read(text)) {
          if (chunk.type === 'text' && filter.passes(chunk.delta)) yield chunk;
          else yield* filter.take(chunk);
        }
        if (reader.complete || filter.over) break;
      }
      if (packet === undefined || filter.over) break;
    }
    const ends = filter.over && !reader.complete ? [OVER] : reader.end();
    for (const chunk of ends) yield* filter.take(chunk);
  } catch (error) {
    throw call.toError(error);
  } finally {
    answer?.end(reader.complete);
    release();
  }
}

/** Reads an answer that is one document, up to its length limit. Throws `ProviderError`. */
export async function readWhole(answer: Answer): Promise<string> {
  const splitter = createDocumentCollector();
  let complete = false;
  try {
    for (;;) {
      const packet = await answer.read();
      if (packet === undefined) break;
      splitter.push(packet);
    }
    complete = true;
    return splitter.end().join('');
  } finally {
    answer.end(complete);
  }
}

/** The error for an answer that ended before it was complete. */
export function endedEarly(): ProviderError {
  return new ProviderError('bad_response', textRef('provider.ended_early'), {
    retryable: true,
  });
}
