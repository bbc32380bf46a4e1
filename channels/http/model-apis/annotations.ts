/** The citations of a response as OpenAI's clients read them: `file_citation` annotations of its text. */
import { CITATION, type Citation } from '../../../src/protocol/knowledge.ts';

interface TextPart {
  type: string;
  text: string;
}

/** `index` is where the mark begins, in UTF-16 units, as OpenAI's file search gives it. */
function annotationsOf(text: string, citations: readonly Citation[]): object[] {
  const byNumber = new Map(citations.map((citation) => [citation.number, citation]));
  return Array.from(text.matchAll(CITATION)).flatMap(({ index, 1: number }) => {
    const citation = byNumber.get(Number(number));
    if (citation === undefined) return [];
    return [{ type: 'file_citation', index, file_id: citation.documentId, filename: citation.title }];
  });
}

/** The response with the citations of its texts, which `cited` finds; numbers that do not exist stay text. */
export async function withAnnotations(
  response: Record<string, unknown>,
  cited: (text: string) => Promise<readonly Citation[]>,
): Promise<Record<string, unknown>> {
  const { output } = response;
  if (!Array.isArray(output)) return response;
  const items = output.map(async (item: { content?: TextPart[] }) => {
    const parts = item.content?.map(async (part) => {
      if (part.type !== 'output_text') return part;
      return { ...part, annotations: annotationsOf(part.text, await cited(part.text)) };
    });
    return parts === undefined ? item : { ...item, content: await Promise.all(parts) };
  });
  return { ...response, output: await Promise.all(items) };
}
