/** The tool `search_knowledge`: passages of the documents that people gave the bot, each with the number to cite it by. */
import { z } from 'zod';
import { defineTool, type Tool } from '../protocol/agent/tool.ts';
import { describePlace, SEARCH_KNOWLEDGE, type TurnKnowledge } from '../protocol/knowledge.ts';
import type { Source } from '../protocol/agent/risk.ts';
import { oneLine } from '../lib/text.ts';

/** Passages of one search: the usual number, and the largest. */
const USUAL_PASSAGES = 6;
const MAX_FOUND_PASSAGES = 10;

const parameters = z.strictObject({
  query: z
    .string()
    .min(1)
    .max(500)
    .describe(
      'The question, or words that the passage is likely to contain, in the language of the documents.',
    ),
  limit: z.int().min(1).max(MAX_FOUND_PASSAGES).default(USUAL_PASSAGES).describe('Most passages to return.'),
});

/** Makes the tool; it is offered where there are documents. */
export function createSearchKnowledge(knowledge: Pick<TurnKnowledge, 'search'>): Tool {
  return defineTool({
    name: SEARCH_KNOWLEDGE,
    description:
      'Search the documents that were given to you for this chat. Use it before you answer a question that they may answer. ' +
      'Right after each statement that you take from a passage, cite it by its number as [k1]. Never make a number up; ' +
      'if no passage answers the question, say so.',
    parameters,
    // It numbers passages for the session; the same passage keeps its number.
    effect: 'idempotent',
    risk: () => 'safe',
    results: 'local',
    reach: () => 'session',
    sideBySide: true,
    async execute({ query, limit }: z.infer<typeof parameters>, ctx) {
      const { profileId, address, sessionKey, turnId, memoryOwner: userId } = ctx;
      const results = await knowledge.search(
        { profileId, address, sessionKey, turnId, userId },
        query,
        limit,
      );
      if (results.length === 0)
        return {
          content: 'No passage matches. Try other words, or say that the documents do not tell.',
          source: 'operator',
        };
      const passages = results.map(({ number, passage: { title, place, content } }) => {
        const where = describePlace(place);
        return `[k${number}] ${oneLine(where === '' ? title : `${title}, ${where}`)}\n${content}`;
      });
      const sources = [...new Set(results.map(({ source }): Source => source))];
      return { content: passages.join('\n\n'), sources, from: 'documents' };
    },
  });
}
