/** How the texts of an answer become chunks, each parsed once, and answers that are read as a whole. */
import type { ChatChunk, FinishReason } from '../../protocol/agent/provider.ts';
import { ProviderError } from '../../protocol/errors.ts';
import { textRef } from '../../protocol/texts/say.ts';
import type { Answer } from './answer.ts';

/** What such a word means: how a complete answer ended, that it is not complete (`broken`), or nothing known. */
export type AnswerEnd = Exclude<FinishReason, 'tool_calls'> | 'broken' | 'unknown';

/**
 * Matched at the beginning of the word: some servers add details (`content_filter: SAFETY`). `broken` comes from vLLM
 * and SGLang when they abort, Gemini for a call it could not read, DeepSeek when overloaded, Zhipu for its network,
 * Cohere for any failure, and Ollama when the model was unloaded, or only loaded.
 */
const MEANINGS: readonly (readonly [AnswerEnd, RegExp])[] = [
  [
    'stop',
    /^(|stop(_sequence|_str|ped)?|eos(_token)?|end(_turn|_of_turn)?|complete[d]?|done|finish(ed)?|tool_(calls?|use)|function_calls?|null)$/,
  ],
  ['length', /^(length|max_(output_|new_)?tokens|model_length|model_context_window|context_(length|window))/],
  [
    'content_filter',
    /^(content_(filter|policy)|safety|image_safety|recitation|blocklist|prohibited_content|spii|sensitive|guardrail)/,
  ],
  ['refusal', /^refus/],
  [
    'broken',
    /^(error|fail|abort|cancel|user_cancel|interrupt|time_?out|server_error|internal_error|network_error|engine_error|insufficient_system_resource|malformed_|function_call_filter|unexpected_tool_call|too_many_tool_calls|(un)?load$)/,
  ],
];

/** The longest line accepted from a model server, in bytes. */
export const MAX_LINE_BYTES = 1024 * 1024;

/** The longest answer that is not a stream (a list of models, say), in bytes. */
export const MAX_DOCUMENT_BYTES = 16 * 1024 * 1024;

/** Splits packets into texts, however they are cut. Throws `ProviderError('bad_response')` for one that is too long. */
export interface TextSplitter {
  push(packet: Buffer): string[];
  /** What was still held back when the packets ended. */
  end(): string[];
}

const NEWLINE = 10;

/** Reads the texts of one answer. Both methods throw `ProviderError`, which ends the answer. */
export interface AnswerReader {
  /** True once the closing record was read, even if more follows. */
  readonly complete: boolean;
  /** True once the server said why the answer ended: at most its usage is missing. */
  readonly finished: boolean;
  /** The chunks of a line, or of a whole document. */
  read(text: string): readonly ChatChunk[];
  /**
   * The chunks known only at the end of the answer, `done` last. Throws for an incomplete answer; if the server ended
   * the body itself (`isDelimited`), a missing end mark is not enough for that.
   */
  end(isDelimited: boolean): readonly ChatChunk[];
}

/** Called with each record that a reader has parsed, before its chunks are returned. */
export type OnRecord = (record: object) => void;

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
  return new ProviderError('bad_response', textRef('provider.ended_early'), { retryable: true });
}

/** Lines without their newline. A character is never cut: a newline's byte occurs in no other character. */
export function createLineSplitter(): TextSplitter {
  let packets: Buffer[] = [];
  let heldBytes = 0;
  return {
    push(packet) {
      const end = packet.lastIndexOf(NEWLINE) + 1;
      if (end === 0) {
        packets.push(packet);
        heldBytes += packet.length;
        if (heldBytes > MAX_LINE_BYTES) throw tooLong('provider.long_line', MAX_LINE_BYTES);
        return [];
      }
      // Without the newline, which would start an empty last line.
      const whole = packet.subarray(0, end - 1);
      const text = (packets.length === 0 ? whole : Buffer.concat([...packets, whole])).toString('utf8');
      heldBytes = packet.length - end;
      packets = heldBytes === 0 ? [] : [packet.subarray(end)];
      return text.split('\n');
    },
    end: () => (heldBytes === 0 ? [] : [Buffer.concat(packets).toString('utf8')]),
  };
}

/** Throws `ProviderError` for a line over the limit. A UTF-16 unit is at most three bytes: short lines need no count. */
export function checkLineLength(line: string): void {
  if (line.length * 3 > MAX_LINE_BYTES && Buffer.byteLength(line) > MAX_LINE_BYTES)
    throw tooLong('provider.long_line', MAX_LINE_BYTES);
}

/** All packets as one text, at the end. */
export function createDocumentCollector(): TextSplitter {
  const packets: Buffer[] = [];
  let bytes = 0;
  return {
    push(packet) {
      bytes += packet.length;
      if (bytes > MAX_DOCUMENT_BYTES) throw tooLong('provider.too_much', MAX_DOCUMENT_BYTES);
      packets.push(packet);
      return [];
    },
    end: () => [Buffer.concat(packets).toString('utf8')],
  };
}

function tooLong(key: 'provider.long_line' | 'provider.too_much', bytes: number): ProviderError {
  return new ProviderError('bad_response', textRef(key, { bytes }));
}

/** What the word means, whatever its case. Never throws. */
export function endOf(word: string): AnswerEnd {
  const plain = word.trim().toLowerCase();
  return MEANINGS.find(([, pattern]) => pattern.test(plain))?.[0] ?? 'unknown';
}
