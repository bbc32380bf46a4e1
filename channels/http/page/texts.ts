/** What the page says: texts by their key, times and numbers, in the language of its reader. */
import type { Template } from '../../../src/protocol/texts/template.ts';
import type { SayText, TextKey, TextRef } from '../../../src/protocol/texts/say.ts';
import type { Cost } from '../../../src/protocol/agent/usage.ts';
import { type FilledValue, fillFrom } from '../../../src/protocol/isomorphic/fill-text.js';

export type { TextRef };

/**
 * What the gateway puts before the first script: the texts of one language, and the English ones for those that it lacks.
 */
export interface GivenTexts {
  language: string;
  /** what the command line is called */
  parley: string;
  table: Record<string, Template>;
  english: Record<string, Template>;
}

const givenTexts: GivenTexts = Reflect.get(globalThis, 'parleyTexts') ?? {
  language: 'en',
  parley: '',
  table: {},
  english: {},
};

/** Code of the page's language. */
export const language = givenTexts.language;

/**
 * The locale of times and numbers: the browser's locale in the page's language, such as `de-AT`, else the language
 * itself.
 * @param code of the page's language
 * @param locales the locales of the browser
 */
export function localeOf(code: string, locales: readonly string[] = []) {
  const [languageCode] = code.split('-');
  return code.includes('-')
    ? code
    : (locales.find((locale) => locale.split('-')[0] === languageCode) ?? code);
}

const locale = localeOf(language, globalThis.navigator?.languages);

/** Makes the function that says texts by their key, with their values. */
export function sayFrom({ language: code, parley, table, english }: GivenTexts): SayText {
  return fillFrom(code, table, english, parley);
}

/** Says a text. */
export const say = sayFrom(givenTexts);

const fill = fillFrom(givenTexts.language, givenTexts.table, givenTexts.english, givenTexts.parley);

/** A text that came by its key, as the gateway keeps it; empty without one. */
export function kept(text: TextRef | undefined) {
  return text === undefined ? '' : fill(text.key, text.values);
}

/**
 * Why the gateway refused something, for a reader: in English its own words, which are the most specific; in other
 * languages their words for the error's code.
 */
export function refusal(code: string, message: string, { table }: Pick<GivenTexts, 'table'> = givenTexts) {
  const text = table[`page.error.${code}`];
  return typeof text === 'string' ? text : message;
}

/** Why the gateway changed nothing, where it says so for each field of a file; undefined elsewhere. */
export function listed(problems: readonly TextRef[] | undefined) {
  if (problems === undefined) return undefined;
  return [say('problem.nothing_changed'), ...problems.map(kept)].join('\n');
}

/** A text in which elements stand for some of its values: its parts in order. */
export function sayParts<Part extends object>(
  key: TextKey,
  values: Record<string, Part | string | number>,
  fillWith: (key: string, values: Record<string, FilledValue>) => string = fill,
): (Part | string)[] {
  const parts: Part[] = [];
  const filled: Record<string, FilledValue> = {};
  for (const [name, value] of Object.entries(values)) {
    filled[name] = typeof value === 'object' ? `${MARK}${parts.push(value) - 1}${MARK}` : value;
  }
  return fillWith(key, filled)
    .split(MARK)
    .map((part, nth) => (nth % 2 === 0 ? part : (parts[Number(part)] ?? '')))
    .filter((part) => part !== '');
}

/** Stands around what takes the place of an element; no text has it. */
const MARK = '\u0000';

/** The time of day: "14:02". */
function clock(at: string | number | Date) {
  return new Date(at).toLocaleTimeString(locale, { hour: '2-digit', minute: '2-digit' });
}

/** "3 Mar". */
function dayAndMonth(at: string | number | Date) {
  return new Date(at).toLocaleDateString(locale, { day: 'numeric', month: 'short' });
}

/** Day and time of day. */
export function dayAndClock(at: string | number | Date) {
  return new Date(at).toLocaleString(locale, { dateStyle: 'medium', timeStyle: 'short' });
}

/** Day and month, and the time to the second: "3 Mar, 14:02:11". */
export function toTheSecond(at: string | number | Date) {
  return new Date(at).toLocaleString(locale, {
    day: 'numeric',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
}

/** Weekday, date and time to the second: "Tuesday 3 March 2026 at 14:02:11". */
export function exactly(at: string | number | Date) {
  return new Date(at).toLocaleString(locale, { dateStyle: 'full', timeStyle: 'medium' });
}

/** A number with the language's separators between its digits. */
export function number(value: number, options?: Intl.NumberFormatOptions) {
  return value.toLocaleString(locale, options);
}

/** An amount; small ones keep two significant digits. */
export function money({ amount, currency }: Cost) {
  const digits = amount > 0 && amount < 1 ? { maximumSignificantDigits: 2 } : { maximumFractionDigits: 2 };
  return number(amount, { style: 'currency', currency, ...digits });
}

/** How long something took: "120 ms", "1.2 s" or "2.5 min". */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 60_000
    ? `${number(ms / 1_000, { minimumFractionDigits: 1, maximumFractionDigits: 1 })} s`
    : `${number(Math.round(ms / 6_000) / 10)} min`;
}

/** A time of today as "14:02", any other as "3 Mar, 14:02". */
export function nearTime(at: string | number | Date, now: number = Date.now()) {
  const isToday = new Date(at).toDateString() === new Date(now).toDateString();
  return isToday ? clock(at) : `${dayAndMonth(at)}, ${clock(at)}`;
}

/** A time in its shortest form: "now", "5 min", "14:02" or "3 Mar". */
export function shortTime(moment: string | number, now: number = Date.now()) {
  const at = new Date(moment);
  const minutes = Math.floor((now - at.getTime()) / 60_000);
  if (minutes < 1) return say('page.time.now');
  if (minutes < 60) return say('page.time.minutes', { count: minutes });
  return new Date(now).toDateString() === at.toDateString() ? clock(at) : dayAndMonth(at);
}
