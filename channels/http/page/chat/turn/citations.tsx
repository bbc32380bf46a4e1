/** What an answer cites, as `[k3]`: a button that opens the passage in its document. Numbers that do not exist stay text. */
import { signal, type Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Citation, OpenedCitation } from '../../../../../src/protocol/knowledge.ts';
import { api } from '../../api.ts';
import { run } from '../../failures/show-error.ts';
import { say } from '../../texts.ts';

/** The citations of a session, as far as they were read. */
export interface SessionCitations {
  byNumber: Signal<ReadonlyMap<number, Citation>>;
  /** Reads them again when this number is unknown, once. Never rejects. */
  look(number: number): void;
  open(number: number): Promise<OpenedCitation>;
}

/** Makes them for a session; nothing is read before an answer cites. */
export function citationsOf(key: string): SessionCitations {
  const byNumber = signal<ReadonlyMap<number, Citation>>(new Map());
  /** Numbers that were looked for. */
  const numbers = new Set<number>();
  let request: Promise<void> | undefined;
  const read = async (): Promise<void> => {
    try {
      const { citations } = await api.citations(key);
      byNumber.value = new Map(citations.map((citation) => [citation.number, citation]));
    } catch {
      // The numbers stay text; those of a later answer are looked for again.
    } finally {
      request = undefined;
    }
  };
  return {
    byNumber,
    look(number) {
      if (byNumber.value.has(number) || numbers.has(number)) return;
      numbers.add(number);
      request ??= read();
    },
    open: (number) => api.citation(key, number),
  };
}

/** The number of a citation in a text. */
export function CitationMark(props: { of: SessionCitations; number: number; text: string }): JSX.Element {
  const { of: citations, number, text } = props;
  useEffect(() => citations.look(number), [citations, number]);
  const citation = citations.byNumber.value.get(number);
  if (citation === undefined) return <>{text}</>;
  return (
    <button
      type="button"
      class="citation"
      title={titleOf(citation)}
      aria-label={`${say('page.citation.open', { number })}: ${titleOf(citation)}`}
      onClick={() => run(show(citation, citations))}
    >
      {number}
    </button>
  );
}

async function show(citation: Citation, citations: SessionCitations): Promise<void> {
  const { showCitation } = await import('./citation-dialog.tsx');
  const title = `${say('page.citation.title', { number: citation.number })}: ${titleOf(citation)}`;
  showCitation(title, citations.open(citation.number));
}

function titleOf({ title, place: { page, headings = [], lines } }: Citation): string {
  return [
    title,
    ...(page === undefined ? [] : [say('knowledge.page', { page })]),
    ...(headings.length === 0 ? [] : [headings.join(' › ')]),
    ...(lines === undefined ? [] : [say('knowledge.lines', { from: lines[0], to: lines[1] })]),
  ].join(', ');
}
