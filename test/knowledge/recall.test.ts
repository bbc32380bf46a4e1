/**
 * How well passages are found in 200 manuals of five languages, by words and by both ways, and how often a reader that takes
 * the sentence nearest to the question cites the right passage. docs/knowledge.md has the numbers: KNOWLEDGE_NUMBERS=1 prints
 * them.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { passagesIn } from '../../src/knowledge/chunks.ts';
import { versionOf } from '../../src/knowledge/read-document.ts';
import { createSearch, type SearchPassages } from '../../src/knowledge/search.ts';
import { toVector } from '../../src/memory/backfill.ts';
import type { FoundPassage } from '../../src/protocol/knowledge.ts';
import { describeStore, silentLog, type TestStore } from '../database.ts';
import { makeManuals, type ManualQuestion } from '../fakes/knowledge/manuals.ts';
import { ngramVector } from '../fakes/model/ngram-vectors.ts';

const { files, questions } = makeManuals();
const MODEL = 'ngrams';
/** Every so many questions are sample, so that each section and each language is. */
const STEP = 7;
const sample = questions.filter((_, n) => n % STEP === 0);

async function importManuals(store: TestStore): Promise<void> {
  const source = await store.knowledge.addSource({
    scope: 'profile/default',
    kind: 'upload',
    location: 'manuals',
  });
  for (const [name, text] of files) {
    const kind = { title: name, headings: true, lines: true, marks: false };
    const passages = [...passagesIn(text, kind)];
    const bytes = Buffer.from(text);
    await store.knowledge.saveDocument(source, {
      name,
      title: name,
      version: versionOf(bytes),
      bytes: bytes.length,
      passages,
    });
  }
  for (;;) {
    const texts = await store.passages.withoutVector(MODEL, 200);
    if (texts.length === 0) break;
    await store.passages.setVectors(
      MODEL,
      texts.map(({ id, text }) => ({ id, vector: toVector(ngramVector(text)) })),
    );
  }
}

function searchOf(store: TestStore, model: string | undefined): SearchPassages {
  return createSearch({
    passages: store.passages,
    model: () => ({ model, isSet: false }),
    vectorOf: async (_model, question) => toVector(ngramVector(question)),
    wake: () => undefined,
    instance: 'home',
    log: silentLog,
  });
}

const isRight = ({ document, answer }: ManualQuestion, { name, content }: FoundPassage): boolean =>
  name === document && content.includes(answer);

/** The passage with the sentence whose parts of words are most like the question's, its title included. */
function citedBy(question: string, passages: readonly FoundPassage[]): FoundPassage | undefined {
  const ofQuestion = new Set(partsOf(question));
  const sentences = passages.flatMap((passage) =>
    passage.content.split(/(?<=[.。])\s*|\n+/).map((sentence) => {
      const parts = new Set(partsOf(`${passage.title} ${sentence}`));
      const shared = [...parts].filter((part) => ofQuestion.has(part)).length;
      return { passage, likeness: shared / Math.sqrt(parts.size || 1) };
    }),
  );
  return sentences.toSorted((a, b) => b.likeness - a.likeness)[0]?.passage;
}

function partsOf(text: string): string[] {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.flatMap((word) => {
    const size = /\p{Script=Han}/u.test(word) ? 2 : 3;
    return Array.from({ length: Math.max(1, word.length - size + 1) }, (_, at) => word.slice(at, at + size));
  });
}

interface Numbers {
  recall: number;
  cited: number;
  byLanguage: Record<string, number>;
}

async function measure(search: SearchPassages): Promise<Numbers> {
  const results: { language: string; isFound: boolean; isCited: boolean }[] = [];
  for (const question of sample) {
    const passages = await search(['profile/default'], question.text, 'token:t', 5);
    const cited = citedBy(question.text, passages);
    results.push({
      language: question.language,
      isFound: passages.some((passage) => isRight(question, passage)),
      isCited: cited !== undefined && isRight(question, cited),
    });
  }
  const share = (list: typeof results, is: (one: (typeof results)[number]) => boolean): number =>
    Math.round((list.filter(is).length / list.length) * 1_000) / 10;
  const byLanguage = [...Map.groupBy(results, ({ language }) => language)].map(
    ([language, list]) => [language, share(list, ({ isFound }) => isFound)] as const,
  );
  return {
    recall: share(results, ({ isFound }) => isFound),
    cited: share(results, ({ isCited }) => isCited),
    byLanguage: Object.fromEntries(byLanguage),
  };
}

describe('200 manuals', () => {
  it('are that many, with a question for each section', () => {
    expect(files.size).toBe(200);
    expect(questions).toHaveLength(1_600);
    for (const { document, answer } of questions) expect(files.get(document)).toContain(answer);
  });
});

describeStore('what is found in 200 manuals', (databases) => {
  let words: Numbers;
  let both: Numbers;
  beforeAll(async () => {
    const store = await databases.open();
    await importManuals(store);
    words = await measure(searchOf(store, undefined));
    both = await measure(searchOf(store, MODEL));
    if (process.env['KNOWLEDGE_NUMBERS'] !== undefined)
      process.stdout.write(`${JSON.stringify({ questions: sample.length, words, both }, null, 2)}\n`);
  }, 240_000);

  it('has the answer among five passages, by words', () => {
    expect(words.recall).toBeGreaterThanOrEqual(95);
    for (const recall of Object.values(words.byLanguage)) expect(recall).toBeGreaterThanOrEqual(85);
  });

  it('has it as often by both ways, although the stand-in of a model is weak, and is cited', () => {
    expect(both.recall).toBeGreaterThanOrEqual(95);
    expect(both.cited).toBeGreaterThanOrEqual(85);
  });
});
