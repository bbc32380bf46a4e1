/** What is wrong with fields of settings and profiles, in the words of their reader: the limits and choices come from the schema. */
import { describe, expect, it } from 'vitest';
import { profileSchema } from '../../../src/protocol/agent/profile.ts';
import GERMAN from '../../../src/settings/languages/de.json' with { type: 'json' };
import { inEnglish, sayFrom } from '../../../src/protocol/texts/say.ts';
import { problemAt, problemOfField, schemaProblems } from '../../../src/protocol/settings.ts';
import { z } from 'zod';

const inGerman = sayFrom('de', GERMAN);

/** What is wrong with a profile, in both languages. */
function problemsOf(given: unknown, schema: z.ZodType = profileSchema): [english: string, german: string][] {
  const { error } = schema.safeParse(given);
  return (error === undefined ? [] : schemaProblems(error)).map(({ path, what }) => {
    const problem = problemAt('config.json:1:2', problemOfField(path, what));
    return [inEnglish.text(problem), inGerman.text(problem)];
  });
}

describe('a problem of a field', () => {
  it.each<[unknown, string, string]>([
    [{ maxIterations: 0 }, 'maxIterations: must be at least 1', 'maxIterations: muss mindestens 1 sein'],
    [{ temperature: 3 }, 'temperature: must be at most 2', 'temperature: darf höchstens 2 sein'],
    [
      { maxIterations: 1.5 },
      'maxIterations: must be a whole number',
      'maxIterations: muss eine ganze Zahl sein',
    ],
    [{ thinkEnabled: 7 }, 'thinkEnabled: must be true or false', 'thinkEnabled: muss true oder false sein'],
    [{ enabledTools: 'all' }, 'enabledTools: must be a list', 'enabledTools: muss eine Liste sein'],
    [{ fallbacks: [1] }, 'fallbacks.0: must be text', 'fallbacks.0: muss ein Text sein'],
    [{ model: '' }, 'model: must have at least 1 character', 'model: muss mindestens 1 Zeichen haben'],
    [
      { description: 'x'.repeat(201) },
      'description: must have at most 200 characters',
      'description: darf höchstens 200 Zeichen haben',
    ],
    [
      { delegatesTo: Array.from({ length: 21 }, () => 'x') },
      'delegatesTo: must have at most 20 entries',
      'delegatesTo: darf höchstens 20 Einträge haben',
    ],
    [
      { usableBy: 'me' },
      'usableBy: must be one of owners, everyone',
      'usableBy: muss eines davon sein: owners, everyone',
    ],
    [
      7,
      'the file: must be an object, in curly brackets',
      'die Datei: muss ein Objekt in geschweiften Klammern sein',
    ],
  ])('of %j has its limits in every language', (given, english, german) => {
    expect(problemsOf(given)).toEqual([[`config.json:1:2: ${english}`, `config.json:1:2: ${german}`]]);
  });

  it('that its schema words keeps these words, in a sentence of its reader', () => {
    const schema = z.object({ even: z.number().refine((given) => given % 2 === 0, 'is odd') });
    expect(problemsOf({ even: 1 }, schema)).toEqual([
      ['config.json:1:2: even: is odd', 'config.json:1:2: even: ist nicht gültig: is odd'],
    ]);
  });
});
