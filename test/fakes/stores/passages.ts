/** Passages and documents for tests of what stores and searches them. */
import { createHash } from 'node:crypto';
import type { NewPassage, ReadDocument } from '../../../src/protocol/knowledge.ts';

/** A passage of this text, whose hash is that of the text. */
export function passageOf(content: string, context = ''): NewPassage {
  const hash = createHash('sha256').update(content).digest('hex');
  return { hash, place: {}, context, content };
}

/** A document with a passage for each text. */
export function documentOf(name: string, texts: readonly string[]): ReadDocument {
  const version = createHash('sha256').update(texts.join()).digest('hex');
  return {
    name,
    title: name,
    version,
    bytes: texts.join().length,
    passages: texts.map((text) => passageOf(text)),
  };
}
