/**
 * A made-up language in which everything that the gateway says is between marks: what is outside of them is data, or
 * was forgotten.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { ENGLISH } from '../../../src/protocol/texts/english.ts';
import { PLACE, type Template } from '../../../src/protocol/texts/template.ts';

/** Its code. No app is set to it. */
export const MARKED = 'qaa';

/** Writes its file into the home of a gateway. */
export async function writeMarkedLanguage(home: string): Promise<void> {
  const table = Object.entries(ENGLISH).map(([key, template]) => [key, marked(template)]);
  await mkdir(path.join(home, 'languages'), { recursive: true });
  await writeFile(path.join(home, 'languages', `${MARKED}.json`), JSON.stringify(Object.fromEntries(table)));
}

/**
 * The words of a screen that are outside of all marks, each once. Names of commands do not count, nor anything with
 * digits or without a lower-case letter: codes, ids, variables, units.
 */
export function wordsOutside(screen: string): string[] {
  const rest = screen.replaceAll(/⟦[^⟦⟧]*⟧/g, ' ').replaceAll(/(?<![\w/])\/[a-z]+\b/g, ' ');
  const words = rest.match(/[\p{L}\p{N}][\p{L}\p{N}_-]+/gu) ?? [];
  return [...new Set(words)].filter((word) => /\p{Ll}/u.test(word) && !/\d/.test(word));
}

/** Values keep their place outside of the marks: one that is itself a sentence shows up. */
function marked(template: Template): Template {
  if (typeof template === 'string') return markedText(template);
  const forms = Object.entries(template).map(([form, text]) => [form, markedText(text)]);
  return { ...Object.fromEntries(forms), other: markedText(template.other) };
}

function markedText(text: string): string {
  const places = [...text.matchAll(PLACE)].map(([place]) => place);
  const parts = text
    .split(new RegExp(PLACE.source.replace('(', '(?:')))
    .map((part) => (/\p{L}/u.test(part) ? `⟦${part}⟧` : part));
  return parts.map((part, nth) => `${part}${places[nth] ?? ''}`).join('');
}
