/** One chat call, the same for every kind of server: its slot, its request, its answer, and what is learned from a refusal. */
import type { ProviderError } from '../protocol/errors.ts';
import type { Omission } from '../protocol/agent/omissions.ts';
import type {
  ChatChunk,
  ChatRequest,
  LLMProvider,
  ModelCapabilities,
  TokenLogprob,
} from '../protocol/agent/provider.ts';
import { pause } from '../lib/async/sleep.ts';
import type { Answer } from './answers/answer.ts';
import { type AnswerReading, createAnswerReading, type Packet } from './answers/answer-reading.ts';
import { z } from 'zod';
import type { AnswerFilter, AnswerReader, OnRecord, TextSplitter } from './answers/read-answer.ts';
import { createCallMaker, type MakeToolCall, offeredTools } from './answers/tool-calls.ts';
import type { AcquireSlot } from './server-calls.ts';
import type { Discovery, LearnedModels, ModelHabits } from './discovery.ts';
import { toProviderError, type Where } from './errors.ts';
import { createAnswerFilter } from './filter/answer-filter.ts';
import { Ladder, type RefusedCall, withoutFields } from './ladder.ts';
import {
  noteUnreadable,
  reduceRequest,
  shapeFor,
  withoutPictures,
  withoutUnreadable,
} from './reduce-request.ts';
import { RefusalError } from './refusals.ts';
import { shapeRequest } from './shape.ts';

const token = z.object({
  token: z.string(),
  logprob: z.number(),
  bytes: z.array(z.number()).nullish().catch(null),
});

const tokens = z.array(token.extend({ top_logprobs: z.array(token).nullish().catch([]) }));

/** A line of Ollama has them at its top, an event of an OpenAI-compatible server in its choice. */
const ofOllama = z.looseObject({ logprobs: tokens, message: z.looseObject({ content: z.string().min(1) }) });

const ofOpenai = z.looseObject({
  choices: z.array(z.looseObject({ logprobs: z.object({ content: tokens }) })).min(1),
});

/** What a kind of server provides for its chats. */
export interface ChatServer {
  at: Where;
  acquire: AcquireSlot;
  discovery: Discovery;
  learned: LearnedModels;
  /** Fields of a body that the gateway adds on its own: no answer depends on them. */
  extras: readonly string[];
  /** Fields that change the answer, and are left out only when the server names them. */
  options: readonly string[];
  /** The body for a request, which is already without the parts that are omitted. */
  body(request: ChatRequest, can: ModelCapabilities, omitted: ReadonlySet<Omission>): object;
  /** Sends a body. Throws `ProviderError`. */
  send(body: object, request: ChatRequest, signal: AbortSignal): Promise<Answer>;
  /** How long a complete answer is waited for that has not ended yet, in milliseconds. */
  usageWaitMs?: number | undefined;
  read(
    model: string,
    makeCall: MakeToolCall,
    onRecord: OnRecord | undefined,
  ): { reader: AnswerReader; splitter: TextSplitter };
}

/** How an answer ends when its model continued past the end of its turn. */
const OVER: ChatChunk = {
  type: 'done',
  finishReason: 'stop',
  usage: { promptTokens: 0, completionTokens: 0, modelMs: 0 },
};

/** Makes `streamChat` of a provider: each chunk is passed on as it arrives, and when the reader stops, the call ends. */
export function createChat(server: ChatServer): LLMProvider['streamChat'] {
  return async function* chat(request, signal) {
    const release = await server.acquire(request, signal);
    let answer: OpenAnswer | undefined;
    try {
      answer = await openAnswer(server, request, signal);
      const { reading, filter } = answer;
      for (let packet = answer.first; ; packet = await reading.next()) {
        for (const chunk of packet.chunks) {
          if (chunk.type === 'text' && filter.passes(chunk.delta)) yield chunk;
          else yield* filter.filterChunk(chunk);
          if (filter.over) break;
        }
        if (filter.over) break;
        if (packet.failure !== undefined) throw packet.failure;
        if (packet.isLast) break;
      }
      const lastChunks = filter.over && !reading.isComplete ? [OVER] : reading.end();
      for (const chunk of lastChunks) yield* filter.filterChunk(chunk);
    } catch (error) {
      throw failureOf(server, request, error);
    } finally {
      answer?.reading.close();
      release();
    }
  };
}

interface OpenAnswer {
  reading: AnswerReading;
  filter: AnswerFilter;
  /** What it began with. */
  first: Packet;
}

/**
 * Sends a request until it is accepted, each time with less, as the ladder says. What was left out is remembered once
 * an answer has begun without it.
 */
async function openAnswer(
  server: ChatServer,
  request: ChatRequest,
  signal: AbortSignal,
): Promise<OpenAnswer> {
  const { discovery, learned: learnedModels } = server;
  const habits = learnedModels.of(request.model);
  const can = await discovery.capabilities(request.model, signal);
  const readable = withoutUnreadable(
    can.vision ? request : withoutPictures(request),
    learnedModels.unreadable,
  );
  const callFor = (omitted: ReadonlySet<Omission>): RefusedCall => {
    const reduced = shapeRequest(reduceRequest(readable, omitted), shapeFor(omitted, can.tools));
    const body = withoutFields(server.body(reduced, can, omitted), omitted);
    return { request: reduced, body, extras: server.extras, options: server.options };
  };
  const ladder = new Ladder(habits.omissions, callFor, learnedModels.monotonicNow);
  for (;;) {
    try {
      const { body } = callFor(ladder.omitted);
      const answer = await beginAnswer(server, request, body, habits, signal);
      settle(ladder, readable, habits, learnedModels);
      return answer;
    } catch (error) {
      if (!(error instanceof RefusalError)) throw error;
      const waitMs = ladder.next(error);
      if (waitMs > 0) await pause(waitMs, signal);
    }
  }
}

/** Sends a body, and reads until the answer has said something. Throws `ProviderError`. */
async function beginAnswer(
  server: ChatServer,
  request: ChatRequest,
  body: object,
  habits: ModelHabits,
  signal: AbortSignal,
): Promise<OpenAnswer> {
  const offered = offeredTools(request.tools);
  const makeCall = createCallMaker(offered);
  const logprobs = request.topLogprobs === undefined ? undefined : new Logprobs();
  const { reader, splitter } = server.read(request.model, makeCall, logprobs?.onRecord);
  const filter = createAnswerFilter(offered, makeCall, habits);
  const answer = await server.send(body, request, signal);
  const usedReader = logprobs?.attachTo(reader) ?? reader;
  const reading = createAnswerReading(answer, usedReader, splitter, habits, server.usageWaitMs);
  try {
    let first = await reading.next();
    while (first.chunks.length === 0 && !first.isLast && first.failure === undefined)
      first = await reading.next();
    // What came before a failure counts.
    if (first.failure !== undefined && first.chunks.length === 0) throw first.failure;
    // An answer without anything may end in a failure.
    if (first.isLast && first.chunks.length === 0) reading.end();
    return { reading, filter, first };
  } catch (error) {
    reading.close();
    throw error;
  }
}

/** Remembers what the server accepts only without, and tells the caller what was left out. */
function settle(
  ladder: Ladder,
  request: ChatRequest,
  habits: ModelHabits,
  learnedModels: LearnedModels,
): void {
  const { added: newParts, omitted, blind } = ladder;
  if (omitted.size === 0) return;
  // Pictures that cannot be read say nothing about others.
  const lasting = newParts.filter((part) => blind || !(part === 'pictures' || part === 'newest_pictures'));
  if (lasting.length < newParts.length) noteUnreadable(request.messages, omitted, learnedModels.unreadable);
  if (lasting.length > 0) habits.omissions.note(lasting);
  request.onOmissions?.([...omitted]);
}

/** The error that the caller gets for whatever was thrown once the call had its slot. */
function failureOf({ at, discovery }: ChatServer, request: ChatRequest, error: unknown): ProviderError {
  const failure = toProviderError({ ...at, model: request.model }, error);
  if (failure.code === 'context_overflow') discovery.overflowed(request, failure.window);
  return failure;
}

/** Fields of a body without which a model does not think. */
const THINKING_FIELDS: readonly Omission[] = ['field:think', 'field:chat_template_kwargs'];

/** What a model can do, without what its server refuses now. */
export function createCapabilities(
  discovery: Discovery,
  learnedModels: LearnedModels,
): LLMProvider['capabilities'] {
  return async (model, signal) => {
    const can = await discovery.capabilities(model, signal);
    const omitted = learnedModels.of(model).omissions.current;
    if (omitted.size === 0) return can;
    return {
      ...can,
      tools: can.tools && !omitted.has('tools'),
      thinking: can.thinking && !THINKING_FIELDS.some((field) => omitted.has(field)),
      vision: can.vision && !omitted.has('pictures'),
      omissions: [...omitted],
    };
  };
}

/** Adds the likelihoods of tokens to the texts of one answer. */
class Logprobs {
  #pending: TokenLogprob[] = [];

  readonly onRecord = (record: object): void => void this.#pending.push(...logprobsIn(record));

  /** The reader, whose text chunks have the likelihoods if the server sends them. */
  attachTo(reader: AnswerReader): AnswerReader {
    return {
      get complete() {
        return reader.complete;
      },
      get finished() {
        return reader.finished;
      },
      read: (text) => this.#attach(reader.read(text)),
      end: (isDelimited) => this.#attach(reader.end(isDelimited)),
    };
  }

  #attach(chunks: readonly ChatChunk[]): ChatChunk[] {
    return chunks.map((chunk) => {
      if (chunk.type !== 'text' || this.#pending.length === 0) return chunk;
      const logprobs = this.#pending;
      this.#pending = [];
      return { ...chunk, logprobs };
    });
  }
}

/** Those of one line or event; none for anything else. */
function logprobsIn(record: object): TokenLogprob[] {
  const ollama = ofOllama.safeParse(record);
  if (ollama.success) return ollama.data.logprobs.map(toTokenLogprob);
  const openai = ofOpenai.safeParse(record);
  return openai.success ? openai.data.choices.flatMap((one) => one.logprobs.content.map(toTokenLogprob)) : [];
}

function toTokenLogprob({ top_logprobs: top, ...rest }: z.infer<typeof tokens>[number]): TokenLogprob {
  const plain = ({ token: text, logprob, bytes = null }: z.infer<typeof token>) => ({
    token: text,
    logprob,
    bytes,
  });
  return { ...plain(rest), top: (top ?? []).map(plain) };
}
