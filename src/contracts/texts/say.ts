/** What the gateway says to people: texts by their key, with their values, in the language of whoever reads them. */
import { fillFrom } from '../isomorphic/fill-text.js';
import { ENGLISH } from './english.ts';
import type { NamesOf, Template } from './template.ts';

type English = typeof ENGLISH;

/** The key of a text: its area and its name, such as `stop.stopped`. */
export type TextKey = keyof English;

/** A text by its key, kept until it is known who reads it; a value may be one, too. */
export interface Said {
  key: TextKey;
  values?: Readonly<Record<string, Value>> | undefined;
}

export type Value = string | number | Said;

type Values<Key extends TextKey> = {
  readonly [Name in NamesOf<English[Key]>]: Name extends 'count' ? number : Value;
};
type ValuesOf<Key extends TextKey> = NamesOf<English[Key]> extends never ? [] : [values: Values<Key>];

/** Keys of texts without values. */
export type PlainKey = { [Key in TextKey]: NamesOf<English[Key]> extends never ? Key : never }[TextKey];

/** A table as far as it goes: what is missing is said in English. */
export type TextTable = Readonly<Partial<Record<TextKey, Template>>>;

/** Gives texts by their key, with their values. */
export interface SayText {
  <Key extends TextKey>(key: Key, ...values: ValuesOf<Key>): string;
}

/** Says texts in one language. Never throws. */
export interface Say extends SayText {
  /** A text that was kept. */
  told(text: Said): string;
  /** Code of the language: `de`, `pt-BR`. */
  readonly language: string;
  /** Its own texts; those that it lacks are said in English. */
  readonly table: TextTable;
}

/** Gives what says texts in the language of this code; undefined and an unknown one are English. */
export type SayIn = (language: string | undefined) => Say;

/** A text to be said later. */
export function said<Key extends TextKey>(key: Key, ...[values]: ValuesOf<Key>): Said {
  return values === undefined ? { key } : { key, values };
}

/** Makes what says the texts of a table. */
export function sayFrom(language: string, table: TextTable): Say {
  const fill = fillFrom(language, table, ENGLISH);
  const say = <Key extends TextKey>(key: Key, ...[values]: ValuesOf<Key>): string => fill(key, values);
  return Object.assign(say, { language, table, told: ({ key, values }: Said) => fill(key, values) });
}

/** Says texts in English: for logs, for programs, and where nothing is known of who reads. */
export const inEnglish: Say = sayFrom('en', ENGLISH);
