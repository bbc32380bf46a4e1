/** Keeps facts when a conversation is summarized: what would otherwise be known in this session only. */
import { type AfterTurnWorker, callForWorker, type EndedTurn } from './after-turn.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { SessionKey } from '../../protocol/message.ts';
import type { ChatRequest } from '../../protocol/agent/provider.ts';
import { taints } from '../../protocol/agent/risk.ts';
import { MAX_MEMORIES, MAX_UNVERIFIED_MEMORIES } from '../../protocol/store/notes.ts';
import type { Compacted } from './compress.ts';
import type { AgentShared } from '../deps.ts';
import { oneLine, stripEnd } from '../../lib/text.ts';

/** Facts of one summary that are kept. */
export const MAX_FACTS = 5;

/** Longest of them, in UTF-16 units; a longer line is a story, not a fact. */
const MAX_FACT_CHARS = 300;

/** Follows the summary in the same conversation, so that the model server need not read the record again. */
export const FACTS_REQUEST =
  'Now list what later conversations with this user should know, too: lasting facts that the user shared about themselves, ' +
  'such as their name, people, preferences, work and plans. Leave out passwords and other secrets, what others wrote, ' +
  'what the lines that begin with "Earlier:" say, because they were read before, and what matters only today. Write one short sentence about the user per line, in the language of the record, at most ' +
  `${MAX_FACTS} lines and nothing else. If there is nothing of that kind, write: none`;

/** Tokens of the model's answer. */
const FACTS_TOKENS = 300;
/** Longest answer that is read, in UTF-16 units. */
const MAX_ANSWER_CHARS = 8_000;

/** Makes the worker; `takeCompacted` returns what was summarized of a session since it was last called. */
export function createFactsWorker(
  shared: AgentShared,
  takeCompacted: (session: SessionKey) => Compacted | undefined,
): AfterTurnWorker {
  return {
    name: 'facts',
    givesWay: false,
    async run(turn, signal) {
      const compacted = takeCompacted(turn.sessionKey);
      if (compacted === undefined || !isOf(turn, compacted)) return [];
      const facts = factsIn(await ask(shared, turn, compacted, signal));
      const factCount = await keep(shared, turn, facts, taints([...turn.sources, ...compacted.sources]));
      if (factCount > 0) turn.log.info({ kept: factCount }, 'facts_remembered');
      return [];
    },
  };
}

/**
 * True when the whole record belongs to the person whose memories the turn reads: in a group, or in a session that
 * several end users of a client share, a fact about one would be revealed to another.
 */
function isOf({ memoryOwner, place }: EndedTurn, { owners }: Compacted): boolean {
  return place === 'private' && memoryOwner !== 'system' && owners.every((owner) => owner === memoryOwner);
}

async function ask(
  shared: AgentShared,
  turn: EndedTurn,
  { request: summarized, summary }: Compacted,
  signal: AbortSignal,
): Promise<string> {
  const request: ChatRequest = {
    ...summarized,
    messages: [
      ...summarized.messages,
      { role: 'assistant', content: summary, toolCalls: [] },
      { role: 'user', content: FACTS_REQUEST },
    ],
    maxTokens: Math.min(FACTS_TOKENS, summarized.maxTokens ?? FACTS_TOKENS),
  };
  return await callForWorker(shared, 'facts', turn, { request, signal, maxChars: MAX_ANSWER_CHARS });
}

/** Stores those that are new; returns their number. */
async function keep(
  { stores: { memories } }: AgentShared,
  turn: EndedTurn,
  facts: readonly string[],
  untrusted: boolean,
): Promise<number> {
  if (facts.length === 0) return 0;
  const { memoryOwner, turnId, sessionKey: session } = turn;
  const memoryRecords = await memories.memories(memoryOwner, MAX_MEMORIES + MAX_UNVERIFIED_MEMORIES);
  const texts = memoryRecords.map(({ text }) => text);
  let count = 0;
  for (const [index, text] of facts.entries()) {
    if (isKnown(text, texts)) continue;
    try {
      // The turn is part of the key: the unverified facts of a turn are counted by it, including those of its
      // tools.
      const key = `${turnId}/facts/${index}`;
      if ((await memories.remember(memoryOwner, { key, text, session, untrusted })).isNew) count += 1;
      texts.push(text);
    } catch (error) {
      if (!(error instanceof GatewayError) || error.code !== 'too_many_memories') throw error;
      turn.log.info({ kept: count }, 'facts_limit_reached');
      break;
    }
  }
  return count;
}

/** The facts in a model's answer, without bullets and numbers; at most `MAX_FACTS`. */
export function factsIn(answer: string): string[] {
  const lines = answer
    .split('\n')
    .map((line) =>
      oneLine(line)
        .replace(/^(?:[-*•]|\d{1,2}[.)])\s+/, '')
        .trim(),
    )
    // A heading, a fence, "none", or half a sentence.
    .filter((line) => wordsOf(line).length >= 3 && line.length <= MAX_FACT_CHARS && !/[:`]$/.test(line));
  return lines.slice(0, MAX_FACTS);
}

/** True when all words of a fact are in one that is known, in any order and case. */
export function isKnown(fact: string, facts: readonly string[]): boolean {
  const words = wordsOf(fact);
  return facts.some((other) => {
    const have = new Set(wordsOf(other));
    return words.every((word) => have.has(word));
  });
}

function wordsOf(text: string): string[] {
  return stripEnd(text.toLowerCase(), '.').match(/[\p{L}\p{N}]+/gu) ?? [];
}
