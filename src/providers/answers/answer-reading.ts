/** One answer, read packet by packet until it is complete, ends or fails. */
import type { ChatChunk } from '../../protocol/agent/provider.ts';
import type { ModelHabits } from '../discovery.ts';
import type { Answer } from './answer.ts';
import type { AnswerReader, TextSplitter } from './read-answer.ts';

/** Text of an answer: what is read, or what is thought. */
type TextChunk = Extract<ChatChunk, { delta: string }>;

const REPLACEMENT = '\uFFFD';

/** How long the usage of a complete answer may take, in milliseconds: some servers hold the connection open, or break it. */
const USAGE_WAIT_MS = 2_000;

/** Unknown reasons that are named for one model; a server that invents more is not worth a longer log. */
const MAX_UNKNOWN_REASONS = 16;

/** What one packet says. */
export interface Packet {
  chunks: readonly ChatChunk[];
  /** Nothing follows. */
  isLast: boolean;
  /** What ended the answer behind these chunks. */
  failure?: Error | undefined;
}

export type AnswerReading = ReturnType<typeof createAnswerReading>;

/** Reads an answer; one that is complete but has not ended is waited for during `usageWaitMs` milliseconds. */
export function createAnswerReading(
  answer: Answer,
  reader: AnswerReader,
  splitter: TextSplitter,
  habits: ModelHabits,
  usageWaitMs = USAGE_WAIT_MS,
) {
  const join = createCharacterJoiner();
  let lastChunks: readonly ChatChunk[] | undefined;
  /** When to stop waiting for the usage, once the answer is complete. */
  let until: number | undefined;
  return {
    /** True once the server's closing record was read. */
    get isComplete(): boolean {
      return reader.complete;
    },
    /** Reads on. Throws `ProviderError` or the signal's reason only when nothing came before the failure. */
    async next(): Promise<Packet> {
      if (reader.complete) return { chunks: [], isLast: true };
      if (reader.finished) until ??= performance.now() + usageWaitMs;
      const leftMs = until === undefined ? undefined : Math.max(0, until - performance.now());
      const packet = await answer.read(leftMs);
      const chunks: ChatChunk[] = [];
      try {
        for (const text of packet === undefined ? splitter.end() : splitter.push(packet)) {
          for (const chunk of join(reader.read(text))) addChunk(chunks, chunk);
          if (reader.complete) break;
        }
      } catch (error) {
        return { chunks, isLast: true, failure: error instanceof Error ? error : new Error(String(error)) };
      }
      // People wait for the beginning; what follows may come in larger pieces.
      if (chunks.length > 0) answer.joinPackets();
      return { chunks, isLast: packet === undefined || reader.complete };
    },
    /** The chunks that are known only at the end, `done` last. Throws `ProviderError` for an answer that was cut. */
    end(): readonly ChatChunk[] {
      if (lastChunks !== undefined) return lastChunks;
      habits.marksEnds ||= reader.complete || reader.finished;
      const chunks = join(reader.end(answer.isDelimited && !habits.marksEnds));
      return (lastChunks = chunks.map((chunk) => withNewReason(chunk, habits.unknownReasons)));
    },
    /** Frees the connection, or closes it when more would follow. */
    close: () => answer.end(reader.complete),
  };
}

/** Texts that arrived in one packet are one chunk: each chunk is an event for everyone who reads the answer. */
function addChunk(chunks: ChatChunk[], chunk: ChatChunk): void {
  const last = chunks.at(-1);
  if (isBare(chunk) && last !== undefined && isBare(last) && chunk.type === last.type)
    chunks[chunks.length - 1] = { type: chunk.type, delta: last.delta + chunk.delta };
  else chunks.push(chunk);
}

/** True for a text or a thought that holds nothing else. */
function isBare(chunk: ChatChunk): chunk is Extract<ChatChunk, { delta: string }> {
  return chunk.type === 'thinking' || (chunk.type === 'text' && chunk.logprobs === undefined);
}

/** The closing chunk names an unknown reason only the first time that a model's server gives it. */
function withNewReason(chunk: ChatChunk, unknownReasons: Set<string>): ChatChunk {
  if (chunk.type !== 'done' || chunk.unknownReason === undefined) return chunk;
  const { unknownReason, ...rest } = chunk;
  if (unknownReasons.has(unknownReason) || unknownReasons.size >= MAX_UNKNOWN_REASONS) return rest;
  unknownReasons.add(unknownReason);
  return chunk;
}

/**
 * Makes the joiner of one answer. It holds back the first half of a character until its second half; without one it
 * becomes U+FFFD. Nearly all chunks pass unchanged.
 */
export function createCharacterJoiner(): (chunks: readonly ChatChunk[]) => readonly ChatChunk[] {
  let half = '';
  let kind: TextChunk['type'] = 'text';

  const join = (chunk: ChatChunk): ChatChunk[] => {
    const isSame = isText(chunk) && chunk.type === kind;
    const lone: ChatChunk[] = half === '' || isSame ? [] : [{ type: kind, delta: REPLACEMENT }];
    const firstHalf = isSame ? half : '';
    half = '';
    if (!isText(chunk)) return [...lone, chunk];
    kind = chunk.type;
    const text = firstHalf + chunk.delta;
    half = endsInHalf(text) ? text.slice(-1) : '';
    const delta = (half === '' ? text : text.slice(0, -1)).toWellFormed();
    return delta === '' ? lone : [...lone, { ...chunk, delta }];
  };
  return (chunks) => (half === '' && chunks.every(isWhole) ? chunks : chunks.flatMap(join));
}

function isText(chunk: ChatChunk): chunk is TextChunk {
  return chunk.type === 'text' || chunk.type === 'thinking';
}

function isWhole(chunk: ChatChunk): boolean {
  return !isText(chunk) || chunk.delta.isWellFormed();
}

/** True for a text whose last unit is the first half of a character. */
function endsInHalf(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff;
}
