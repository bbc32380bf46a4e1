/** A file with the gateway's texts in a language: the keys of the English table, each with its text. Pure. */
import { z } from 'zod';
import { ENGLISH } from '../protocol/texts/english.ts';
import { inEnglish, type SettingKey, type TextTable } from '../protocol/texts/say.ts';
import { placesOf, type Template } from '../protocol/texts/template.ts';
import { keysOf } from './schema-file.ts';
import { readJson } from './read-json.ts';

/** Longest text, in UTF-16 units. */
export const MAX_TEXT_CHARS = 2_000;
/** Most errors reported per file. */
const MAX_REPORTED = 10;

/** The table and the keys that it lacks, or what is wrong with it, by line. */
export type ReadTable = { table: TextTable; missing: readonly string[] } | { errors: readonly string[] };

const text = z.string().min(1).max(MAX_TEXT_CHARS);
const forms = z.strictObject({
  zero: text.optional(),
  one: text.optional(),
  two: text.optional(),
  few: text.optional(),
  many: text.optional(),
  other: text,
});

const KEYS = new Map(Object.entries(ENGLISH).map(([key, template]) => [key, template]));

/** Reads a file; `shown` is its name in errors, `settings` are the paths of the settings that it may describe. Never throws. */
export function readTable(content: string, label: string, settings: readonly string[]): ReadTable {
  const keys = new Set<string>(settings.flatMap(keysOf));
  const isOfSetting = (key: string): key is SettingKey => keys.has(key);
  const { value, errors: form, placeOf } = readJson(content);
  const errors = form.map(({ place, what: problem }) => `${label}${place}: ${inEnglish.text(problem)}`);
  const entries = z.record(z.string(), z.unknown()).safeParse(value);
  if (!entries.success) return { errors: [...errors, `${label}: does not hold an object of texts`] };
  const texts: Record<string, Template> = {};
  const descriptions: Record<SettingKey, string> = {};
  for (const [key, entry] of Object.entries(entries.data)) {
    const refuse = (problem: string): void =>
      void errors.push(`${label}${placeOf([key])}: ${key.slice(0, 80)}: ${problem}`);
    if (isOfSetting(key)) {
      const { data } = text.safeParse(entry);
      if (data === undefined) refuse(NO_TEXT);
      else descriptions[key] = data;
    } else {
      const read = readText(key, entry);
      if ('problem' in read) refuse(read.problem);
      else texts[key] = read.template;
    }
  }
  if (errors.length > MAX_REPORTED) errors.splice(MAX_REPORTED, errors.length, `${label}: and more errors`);
  if (errors.length > 0) return { errors };
  const missing = [...KEYS.keys()].filter((key) => !Object.hasOwn(texts, key));
  const undescribed = settings.filter(
    (path) => !keysOf(path).some((key) => Object.hasOwn(descriptions, key)),
  );
  return {
    table: { ...texts, ...descriptions },
    missing: [...missing, ...undescribed.map((path) => `setting.${path}`)],
  };
}

const NO_TEXT = `must be a text of at most ${MAX_TEXT_CHARS} characters`;

function readText(key: string, value: unknown): { template: Template } | { problem: string } {
  const english = KEYS.get(key);
  if (english === undefined) return { problem: 'there is no such text' };
  const plural = typeof english !== 'string';
  const parsed = plural ? z.union([text, forms]).safeParse(value) : text.safeParse(value);
  if (!parsed.success)
    return {
      problem: plural
        ? 'must be a text, or an object with "other" and the other forms of plurals of the language'
        : NO_TEXT,
    };
  const places = placesOf(english);
  const unknown = placesOf(parsed.data).filter((name) => !places.includes(name) && name !== 'count');
  if (unknown.length > 0)
    return {
      problem: `there is no value {${unknown[0]}}; its values are ${places.map((name) => `{${name}}`).join(', ')}`,
    };
  // A command written without braces is shown verbatim, and so is the name of the command line.
  const isValue = (name: string): boolean => !/^(count|parley|\/.*)$/.test(name);
  const missing = places.filter((name) => isValue(name) && !placesOf(parsed.data).includes(name));
  if (missing.length > 0) return { problem: `lacks the value {${missing[0]}}` };
  return { template: parsed.data };
}
