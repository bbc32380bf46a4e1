/** How the texts of an answer become chunks, each parsed once, and answers that are read as a whole. */
import { ProviderError } from '../../protocol/errors.ts';
import { textRef } from '../../protocol/texts/say.ts';
import type { ChatChunk } from '../../protocol/agent/provider.ts';
import type { Answer } from './answer.ts';
import { createDocumentCollector } from './text-splitters.ts';
import type { MakeToolCall } from './tool-calls.ts';

/** Reads the texts of one answer. Both methods throw `ProviderError`, which ends the answer. */
export interface AnswerReader {
  /** True once the closing record was read, even if more follows. */
  readonly complete: boolean;
  /** True once the server said why the answer ended: at most its usage is missing. */
  readonly finished: boolean;
  /** The chunks of a line, or of a whole document. */
  read(text: string): readonly ChatChunk[];
  /**
   * The chunks that are known only at the end of the answer, `done` last. Throws when the answer ended before it was
   * complete. `isDelimited`: the server ended the body itself, so that a missing end is only one that it never sends.
   */
  end(isDelimited: boolean): readonly ChatChunk[];
}

/** What every reader of an answer is given. */
export interface ReadingOptions {
  /** How tool calls are made. */
  makeCall: MakeToolCall;
  /** Called with each record that was parsed, before its chunks are returned. */
  onRecord?: ((record: object) => void) | undefined;
}

/** Takes the markup out of an answer: thinking and tool calls that arrived as text. Never throws. */
export interface AnswerFilter {
  /** True for a text to pass on unchanged: nothing is open and nothing in it can start anything. */
  passes(text: string): boolean;
  /** What a chunk that did not pass becomes. */
  filterChunk(chunk: ChatChunk): readonly ChatChunk[];
  /** True once the model continued past the end of its own turn: what follows is not part of the answer. */
  readonly over: boolean;
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
