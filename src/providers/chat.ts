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
import { AnswerReading, type Packet } from './answers/answer-reading.ts';
import { z } from 'zod';
import type { AnswerFilter, AnswerReader, ReadingOptions } from './answers/read-answer.ts';
import type { TextSplitter } from './answers/text-splitters.ts';
import { createCallMaker, offeredTools } from './answers/tool-calls.ts';
import type { AcquireSlot } from './concurrency-limit.ts';
import type { Discovery } from './discovery.ts';
import { toProviderError, type Where } from './errors.ts';
import { createAnswerFilter } from './filter/answer-filter.ts';
import { Ladder, withoutFields } from './ladder/ladder.ts';
import {
  noteUnreadable,
  reduceRequest,
  shapeFor,
  withoutPictures,
  withoutUnreadable,
} from './ladder/reduce-request.ts';
import type { RefusedCall } from './ladder/rungs.ts';
import type { LearnedModels, ModelHabits } from './learned.ts';
import { RefusalError } from './refusals.ts';
import { shapeRequest } from './shape/shape.ts';

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

/** Adds likelihoods to the texts of one answer. */
interface Logprobs {
  /** Called by the answer's reader with each record that it has parsed. */
  onRecord: (record: object) => void;
  /** The reader, whose text chunks have the likelihoods if the server sends them. */
  attachTo(reader: AnswerReader): AnswerReader;
}

/** What a kind of server provides for its chats. */
export interface ChatServer {
  at: Where;
  acquire: AcquireSlot;
  known: Discovery;
  learned: LearnedModels;
  /** Fields of a body that the gateway adds on its own: no answer depends on them. */
  extras: readonly string[];
  /** Fields that change the answer, and are left out only when the server names them. */
  options: readonly string[];
  /** The body for a request. */
  body(call: SentCall): object;
  /** Sends a body. Throws `ProviderError`. */
  send(body: object, request: ChatRequest, signal: AbortSignal): Promise<Answer>;
  /** How long a complete answer is waited for that has not ended yet, in milliseconds. */
  usageWaitMs?: number | undefined;
  /** Makes the reader of one answer. */
  read(model: string, options: ReadingOptions): { reader: AnswerReader; splitter: TextSplitter };
}

/** A request as it is to be sent, without the parts that are omitted. */
export interface SentCall {
  request: ChatRequest;
  can: ModelCapabilities;
  omitted: ReadonlySet<Omission>;
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
    let opened: OpenedAnswer | undefined;
    try {
      opened = await openAnswer(server, request, signal);
      const { reading, filter } = opened;
      for (let packet = opened.first; ; packet = await reading.next()) {
        for (const chunk of packet.chunks) {
          if (chunk.type === 'text' && filter.passes(chunk.delta)) yield chunk;
          else yield* filter.filterChunk(chunk);
          if (filter.over) break;
        }
        if (filter.over) break;
        if (packet.failure !== undefined) throw packet.failure;
        if (packet.isLast) break;
      }
      const ends = filter.over && !reading.isComplete ? [OVER] : reading.end();
      for (const chunk of ends) yield* filter.filterChunk(chunk);
    } catch (error) {
      throw failureOf(server, request, error);
    } finally {
      opened?.reading.close();
      release();
    }
  };
}

/** An answer that the server has begun. */
interface OpenedAnswer {
  reading: AnswerReading;
  filter: AnswerFilter;
  /** What it began with. */
  first: Packet;
}

/**
 * Sends a request until the server accepts it: after a refusal with less in it, as the ladder says. What was left out is
 * remembered once an answer has begun without it.
 */
async function openAnswer(
  server: ChatServer,
  request: ChatRequest,
  signal: AbortSignal,
): Promise<OpenedAnswer> {
  const { known, learned } = server;
  const habits = learned.of(request.model);
  const can = await known.capabilities(request.model, signal);
  const readable = withoutUnreadable(can.vision ? request : withoutPictures(request), learned.unreadable);
  const callFor = (omitted: ReadonlySet<Omission>): RefusedCall => {
    const reduced = shapeRequest(reduceRequest(readable, omitted), shapeFor(omitted, can));
    const body = withoutFields(server.body({ request: reduced, can, omitted }), omitted);
    return { request: reduced, body: { ...body }, extras: server.extras, options: server.options };
  };
  const ladder = new Ladder({ habits, callFor, monotonicNow: learned.monotonicNow });
  for (;;) {
    try {
      const { body } = callFor(ladder.omitted);
      const opened = await beginAnswer(server, { request, body, habits }, signal);
      settle(ladder, { request: readable, habits, learned });
      return opened;
    } catch (error) {
      if (!(error instanceof RefusalError)) throw error;
      const { waitMs } = ladder.next(error);
      if (waitMs > 0) await pause(waitMs, signal);
    }
  }
}

interface BegunCall {
  request: ChatRequest;
  body: object;
  habits: ModelHabits;
}

/** Sends a body, and reads until the answer has said something. Throws `ProviderError`. */
async function beginAnswer(
  server: ChatServer,
  { request, body, habits }: BegunCall,
  signal: AbortSignal,
): Promise<OpenedAnswer> {
  const { reader, splitter, filter } = readersOf(server, request, habits);
  const answer = await server.send(body, request, signal);
  const { usageWaitMs } = server;
  // What a failure teaches about the window is noted once, where the call ends.
  const failed = (error: unknown): ProviderError =>
    toProviderError({ ...server.at, model: request.model }, error);
  const reading = new AnswerReading({ answer, reader, splitter, habits, usageWaitMs, failed });
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

interface Settlement {
  request: ChatRequest;
  habits: ModelHabits;
  learned: LearnedModels;
}

/** Remembers what the server accepts only without, and tells the caller what was left out. */
function settle(ladder: Ladder, { request, habits, learned }: Settlement): void {
  const { added, omitted, blind } = ladder;
  if (omitted.size === 0) return;
  const pictures = added.filter((part) => part === 'pictures' || part === 'newest_pictures');
  if (pictures.length > 0 && !blind) noteUnreadable(request, omitted, learned.unreadable);
  // Pictures that cannot be read say nothing about others.
  const lasting = added.filter((part) => blind || !(part === 'pictures' || part === 'newest_pictures'));
  if (lasting.length > 0) habits.omissions.note(lasting);
  request.onOmissions?.([...omitted]);
}

/** What the answer to a request is read with. */
function readersOf(server: ChatServer, request: ChatRequest, habits: ModelHabits) {
  const offered = offeredTools(request.tools);
  const makeCall = createCallMaker(offered);
  const logprobs = logprobsFor(request);
  const { reader, splitter } = server.read(request.model, { makeCall, onRecord: logprobs?.onRecord });
  const filter: AnswerFilter = createAnswerFilter({ offered, makeCall, habits });
  return { reader: logprobs?.attachTo(reader) ?? reader, splitter, filter };
}

/** The error that the caller gets for whatever was thrown once the call had its slot. */
function failureOf({ at, known }: ChatServer, request: ChatRequest, error: unknown): ProviderError {
  const failure = toProviderError({ ...at, model: request.model }, error);
  if (failure.code === 'context_overflow') known.overflowed(request, failure.window);
  return failure;
}

/** Fields of a body without which a model does not think. */
const THINKING_FIELDS: readonly Omission[] = ['field:think', 'field:chat_template_kwargs'];

/** What a model can do, without what its server refuses now. */
export function createCapabilities({
  known,
  learned,
}: Pick<ChatServer, 'known' | 'learned'>): LLMProvider['capabilities'] {
  return async (model, signal) => {
    const can = await known.capabilities(model, signal);
    const omitted = learned.of(model).omissions.current;
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

/** Makes them for a call that asks for likelihoods; undefined for any other. */
function logprobsFor({ topLogprobs }: ChatRequest): Logprobs | undefined {
  if (topLogprobs === undefined) return undefined;
  let pending: TokenLogprob[] = [];
  const attach = (chunks: readonly ChatChunk[]): ChatChunk[] =>
    chunks.map((chunk) => {
      if (chunk.type !== 'text' || pending.length === 0) return chunk;
      const logprobs = pending;
      pending = [];
      return { ...chunk, logprobs };
    });
  return {
    onRecord: (record) => void pending.push(...logprobsIn(record)),
    attachTo: (reader) => ({
      get complete() {
        return reader.complete;
      },
      get finished() {
        return reader.finished;
      },
      read: (text) => attach(reader.read(text)),
      end: (isDelimited) => attach(reader.end(isDelimited)),
    }),
  };
}

/** Those of one line or event; none for anything else. */
function logprobsIn(record: object): TokenLogprob[] {
  const ollama = ofOllama.safeParse(record);
  if (ollama.success) return ollama.data.logprobs.map(toTokenLogprob);
  const openai = ofOpenai.safeParse(record);
  return openai.success ? openai.data.choices.flatMap((one) => one.logprobs.content.map(toTokenLogprob)) : [];
}

function toTokenLogprob({ top_logprobs: top, ...own }: z.infer<typeof tokens>[number]): TokenLogprob {
  const plain = ({ token: text, logprob, bytes }: z.infer<typeof token>) => ({
    token: text,
    logprob,
    bytes: bytes ?? null,
  });
  return { ...plain(own), top: (top ?? []).map(plain) };
}
