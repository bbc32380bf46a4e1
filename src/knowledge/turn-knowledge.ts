/** The documents as turns use them: whether a chat has some, the search, and what an answer cites. */
import { pageSource } from '../protocol/agent/risk.ts';
import { GatewayError } from '../protocol/errors.ts';
import {
  citedNumbers,
  type CitationStore,
  type KnowledgeScope,
  scopesOf,
  type TurnKnowledge,
} from '../protocol/knowledge.ts';
import type { Log } from '../protocol/log.ts';
import { type Address, chatOf } from '../protocol/message.ts';
import type { SearchPassages } from './search.ts';

export interface TurnKnowledgeDeps {
  /** Those that have documents, as last read. */
  scopes: () => ReadonlySet<KnowledgeScope>;
  search: SearchPassages;
  citations: CitationStore;
  countCitations: (counts: { real: number; invented: number }) => void;
  log: Log;
}

/** Makes it. */
export function createTurnKnowledge({
  scopes,
  search,
  citations: store,
  countCitations,
  log,
}: TurnKnowledgeDeps): TurnKnowledge {
  const scopesFor = (profileId: string, address: Address): KnowledgeScope[] =>
    scopesOf(profileId, address, chatOf(address)).filter((scope) => scopes().has(scope));
  return {
    has: (profileId, address) => scopes().size > 0 && scopesFor(profileId, address).length > 0,
    async search({ profileId, address, sessionKey, turnId, userId }, query, limit) {
      const own = scopesFor(profileId, address);
      const passages = own.length === 0 ? [] : await search(own, query, userId, limit);
      const numbers = passages.length === 0 ? [] : await store.cite(sessionKey, turnId, passages);
      return passages.map((passage, index) => ({
        number: numbers[index] ?? 0,
        passage,
        source: passage.kind === 'url' ? pageSource(passage.location) : 'local',
      }));
    },
    async cited(session, text) {
      const numbers = citedNumbers(text);
      if (numbers.length === 0) return [];
      try {
        const citations = await store.citations(session, numbers);
        countCitations({ real: citations.length, invented: numbers.length - citations.length });
        return citations;
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
        log.warn({ err: error, session }, 'citations_not_read');
        return [];
      }
    },
  };
}
