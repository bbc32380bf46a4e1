/**
 * The form of the texts in a table: plain ones, and those that depend on a number. Values are in braces: `{count}`; so
 * are commands, with a slash: `{/stop}`, and the local name of the command line: `{parley}`.
 */
import { PLACE } from '../isomorphic/fill-text.js';

export { PLACE };

/** A text that depends on the value `count`: one form for each plural category of its language. */
export type PluralForms = Readonly<Partial<Record<Intl.LDMLPluralRule, string>> & { other: string }>;

export type Template = string | PluralForms;

type NamesIn<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? (Name extends `/${string}` | 'parley' ? never : Name) | NamesIn<Rest>
  : never;

/** The names of the values that a text needs. */
export type NamesOf<Entry> = Entry extends string
  ? NamesIn<Entry>
  : Entry extends PluralForms
    ? NamesIn<Exclude<Entry[keyof Entry], undefined> & string> | 'count'
    : never;

/** The names of the values in a template, commands with their slash and `parley`, each once, sorted. Plural forms always have `count`. */
export function placesOf(template: Template): string[] {
  const forms = typeof template === 'string' ? [template] : [...Object.values(template), '{count}'];
  const names = forms.flatMap((form) => [...form.matchAll(PLACE)].map(([, name = '']) => name));
  return [...new Set(names)].toSorted();
}
