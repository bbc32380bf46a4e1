/** One chat call, the same for every kind of server: its slot, its request, its answer, and what is learned from a refusal. */
import type { ProviderError } from '../contracts/errors.ts';
import { unseenPictures } from '../contracts/media.ts';
import type {
  ChatChunk,
  ChatMessage,
  ChatRequest,
  LLMProvider,
  ModelCapabilities,
} from '../contracts/model/provider.ts';
import type { Answer } from './answers/answer.ts';
import type { AcquireSlot } from './concurrency-limit.ts';
import type { Discovery } from './discovery.ts';
import { toProviderError } from './errors.ts';
import type { Where } from './errors.ts';
import { createAnswerFilter } from './filter/answer-filter.ts';
import type { LearnedModels, ModelHabits } from './learned.ts';
import { logprobsFor } from './answers/logprobs.ts';
import type { AnswerFilter, AnswerReader, ReadingOptions } from './answers/read-answer.ts';
import { FeatureError } from './refusals.ts';
import type { RefusedFeature } from './refusals.ts';
import type { TextSplitter } from './answers/text-splitters.ts';
import { createCallMaker, offeredTools } from './answers/tool-calls.ts';

/** What a kind of server provides for its chats. */
export interface ChatServer {
  at: Where;
  acquire: AcquireSlot;
  known: Discovery;
  learned: LearnedModels;
  /** Sends the request; `refused` are the parts that must be written differently. Throws `ProviderError`. */
  send(call: SentCall): Promise<Answer>;
  /** Makes the reader of one answer. */
  read(model: string, options: ReadingOptions): { reader: AnswerReader; splitter: TextSplitter };
}

/** A request as it is to be sent. */
export interface SentCall {
  request: ChatRequest;
  can: ModelCapabilities;
  refused: ReadonlySet<RefusedFeature>;
  signal: AbortSignal;
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
    const { reader, splitter, filter, habits } = readingOf(server, request);
    const release = await server.acquire(request, signal);
    let answer: Answer | undefined;
    try {
      answer = await sendAccepted(server, request, habits, signal);
      while (!reader.complete) {
        const packet = await answer.read();
        for (const text of packet === undefined ? splitter.end() : splitter.push(packet)) {
          for (const chunk of reader.read(text)) {
            if (chunk.type === 'text' && filter.passes(chunk.delta)) yield chunk;
            else yield* filter.filterChunk(chunk);
          }
          if (reader.complete || filter.over) break;
        }
        if (packet === undefined || filter.over) break;
      }
      const ends = filter.over && !reader.complete ? [OVER] : reader.end();
      for (const chunk of ends) yield* filter.filterChunk(chunk);
    } catch (error) {
      throw failureOf(server, request, error);
    } finally {
      answer?.end(reader.complete);
      release();
    }
  };
}

/** What the answer to a request is read with. */
function readingOf(server: ChatServer, request: ChatRequest) {
  const habits = server.learned.of(request.model);
  const offered = offeredTools(request.tools);
  const makeCall = createCallMaker(offered);
  const logprobs = logprobsFor(request);
  const { reader, splitter } = server.read(request.model, { makeCall, onRecord: logprobs?.onRecord });
  const filter: AnswerFilter = createAnswerFilter({ offered, makeCall, habits });
  return { reader: logprobs?.attachTo(reader) ?? reader, splitter, filter, habits };
}

/** The error that the caller gets for whatever was thrown once the call had its slot. */
function failureOf({ at, known }: ChatServer, request: ChatRequest, error: unknown): ProviderError {
  const failure = toProviderError({ ...at, model: request.model }, error);
  if (failure.code === 'context_overflow') known.overflowed(request, failure.window);
  return failure;
}

/** What a model can do, without what its server has refused. */
export function createCapabilities({
  known,
  learned,
}: Pick<ChatServer, 'known' | 'learned'>): LLMProvider['capabilities'] {
  return async (model, signal) => without(learned.of(model).refused, await known.capabilities(model, signal));
}

function without(refused: ReadonlySet<RefusedFeature>, can: ModelCapabilities): ModelCapabilities {
  if (refused.size === 0) return can;
  return {
    ...can,
    tools: can.tools && !refused.has('tools'),
    thinking: can.thinking && !refused.has('thinking'),
    vision: can.vision && !refused.has('pictures'),
  };
}

/**
 * Sends a request without the parts that the model is known to refuse. A part that it refuses now is remembered and
 * left out.
 */
async function sendAccepted(
  server: ChatServer,
  request: ChatRequest,
  { refused }: ModelHabits,
  signal: AbortSignal,
): Promise<Answer> {
  for (;;) {
    const can = without(refused, await server.known.capabilities(request.model, signal));
    try {
      const sent = leaveOut(can.vision ? request : withoutImages(request), refused);
      return await server.send({ request: sent, can, refused, signal });
    } catch (error) {
      if (!(error instanceof FeatureError) || refused.has(error.feature)) throw error;
      refused.add(error.feature);
      if (error.feature === 'pictures') request.onPicturesRefused?.();
    }
  }
}

/** The request without pictures; the model reads that there were some. */
function withoutImages(request: ChatRequest): ChatRequest {
  const messages = request.messages.map((message): ChatMessage => {
    if (message.role !== 'user' || message.images === undefined) return message;
    return { role: 'user', content: `${message.content}\n${unseenPictures(message.images.length)}` };
  });
  return { ...request, messages };
}

function leaveOut(request: ChatRequest, refused: ReadonlySet<RefusedFeature>): ChatRequest {
  if (refused.size === 0) return request;
  const { tools, toolChoice, parallelToolCalls, temperature, ...rest } = request;
  const withTools = !refused.has('tools');
  return {
    ...rest,
    ...(tools !== undefined && withTools && { tools, toolChoice, parallelToolCalls }),
    ...(temperature !== undefined && !refused.has('temperature') && { temperature }),
  };
}
