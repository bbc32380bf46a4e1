/** What the gateway says to people: texts by their key, with their values, in the reader's language. */
import { z } from 'zod';
import { fillFrom, withSlash, type WriteCommand } from '../isomorphic/fill-text.js';
import { ENGLISH } from './english.ts';
import type { NamesOf, Template } from './template.ts';
import { PARLEY } from './parley.ts';

type English = typeof ENGLISH;

/** The key of a text: area and name, such as `stop.stopped`. */
export type TextKey = keyof English;

/** A text by its key, kept until its reader is known; a value may be one, too. */
export interface TextRef {
  key: TextKey;
  values?: Readonly<Record<string, Value>> | undefined;
}

export type Value = string | number | TextRef;

type Values<Key extends TextKey> = {
  readonly [Name in NamesOf<English[Key]>]: Name extends 'count' ? number : Value;
};
type ValuesOf<Key extends TextKey> = NamesOf<English[Key]> extends never ? [] : [values: Values<Key>];

/** Keys of texts without values. */
export type PlainKey = { [Key in TextKey]: NamesOf<English[Key]> extends never ? Key : never }[TextKey];

/**
 * The key of the description of a setting in `config.json`: `setting.limits.messagesPerMinute`, shown verbatim, without
 * values.
 */
export type SettingKey = `setting.${string}`;

/** A possibly incomplete table: missing texts are in English, missing settings as their schema describes them. */
export type TextTable = Readonly<Partial<Record<TextKey, Template>>> & {
  readonly [key: SettingKey]: string | undefined;
};

/** Returns texts by their key, with their values. */
export interface SayText {
  <Key extends TextKey>(key: Key, ...values: ValuesOf<Key>): string;
}

/** Words texts in one language, with commands as one channel writes them. Never throws. */
export interface Say extends SayText {
  /** A stored text. */
  text(ref: TextRef): string;
  /** A command as its reader writes it: `/stop`, `!stop`. */
  command: WriteCommand;
  /** Code of the language: `de`, `pt-BR`. */
  readonly language: string;
  /** Its own texts; those that it lacks are in English. */
  readonly table: TextTable;
}

/** The reader of a text. */
export interface Recipient {
  /** Code of their language; undefined and an unknown one are English. */
  language?: string | undefined;
  /** Where they read it, which determines how commands are written; without a channel, with a slash. */
  channel?: string | undefined;
  threadId?: string | undefined;
}

/** Returns the function that words texts for a reader; a message counts as one, too. */
export type SayIn = (to: Recipient) => Say;

/** A text to be worded later. */
export function textRef<Key extends TextKey>(key: Key, ...[values]: ValuesOf<Key>): TextRef {
  return values === undefined ? { key } : { key, values };
}

/** A text to be worded later, as it is stored. */
export function storedText(text: TextRef): string {
  return JSON.stringify(text);
}

/** Reads it; undefined for anything else, and for a key that no longer exists. Never throws. */
export function readStoredText(value: string): TextRef | undefined {
  if (!value.startsWith('{"key":')) return undefined;
  try {
    return STORED.parse(JSON.parse(value));
  } catch {
    // Plain text that looks like one.
    return undefined;
  }
}

const STORED: z.ZodType<TextRef> = z.object({
  key: z.string().refine(isTextKey),
  values: z.lazy(() => z.record(z.string(), z.union([z.string(), z.number(), STORED]))).optional(),
});

/** Whether there is a text under this key, which may need values. */
export function isTextKey(key: string): key is TextKey {
  return Object.hasOwn(ENGLISH, key);
}

/** Makes the function that words the texts of a table, with commands as `write` writes them. */
export function sayFrom(language: string, table: TextTable, write: WriteCommand = withSlash): Say {
  return speaker(language, table)(write);
}

/** The same for each way of writing commands, at the cost of only a few functions. */
export function speaker(language: string, table: TextTable): (write: WriteCommand) => Say {
  const fill = fillFrom(language, table, ENGLISH, PARLEY);
  return (write) => {
    const say = <Key extends TextKey>(key: Key, ...[values]: ValuesOf<Key>): string =>
      fill(key, values, write);
    const text = ({ key, values }: TextRef): string => fill(key, values, write);
    return Object.assign(say, { language, table, text, command: write });
  };
}

/** Words texts in English: for logs, for programs, and for unknown readers. */
export const inEnglish: Say = sayFrom('en', ENGLISH);
