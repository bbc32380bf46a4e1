/** Facts worth keeping, as a model lists them when it has summarized a conversation. */
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
export function isKnown(fact: string, known: readonly string[]): boolean {
  const words = wordsOf(fact);
  return known.some((other) => {
    const have = new Set(wordsOf(other));
    return words.every((word) => have.has(word));
  });
}

function wordsOf(text: string): string[] {
  return stripEnd(text.toLowerCase(), '.').match(/[\p{L}\p{N}]+/gu) ?? [];
}
