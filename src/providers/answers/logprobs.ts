/** Likelihoods of tokens: read along with the texts of an answer, only when a call asks for them. */
import { z } from 'zod';
import type { ChatChunk, ChatRequest, TokenLogprob } from '../../contracts/model/provider.ts';
import type { AnswerReader } from './read-answer.ts';

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

/** Makes them for a call that asks for likelihoods; undefined for any other. */
export function logprobsFor({ topLogprobs }: ChatRequest): Logprobs | undefined {
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
