/** What is wrong with a configuration: in English for a terminal and the log, and as texts for a reader of another language. */
import { ConfigError } from '../protocol/errors.ts';
import { type JsonText, problemAt } from '../protocol/settings.ts';
import { inEnglish, textRef, type TextRef } from '../protocol/texts/say.ts';
import { withItems } from '../lib/text.ts';

/** Errors that are reported for one configuration; a file may have thousands. */
export const MAX_PROBLEMS = 50;

/** A name of a variable or field, and what is wrong with it. */
const OF_A_FIELD = /^(?<field>[\w.-]+): (?<detail>.*)$/s;

/** One error. */
export interface ConfigProblem {
  /** The file with line and column, '' for a variable. */
  place: string;
  /** In English; it begins with the variable or field. */
  text: string;
  /** The same with its place, for a reader of any language. */
  textRef: TextRef;
}

/** An error at a place of the file, or without one. */
export function problemOf(place: string, problem: TextRef): ConfigProblem {
  return {
    place,
    text: inEnglish.text(problem),
    textRef: place === '' ? problem : problemAt(place, problem),
  };
}

/** Errors in the syntax of the file. */
export function syntaxProblems(file: string, errors: JsonText['errors']): ConfigProblem[] {
  return errors.map(({ place, what: problem }) => problemOf(file + place, problem));
}

/** An error that is not in the file. */
export function elsewhere(text: string): ConfigProblem {
  return problemOf('', sentenceRef(text));
}

/** An English sentence; if it begins with a field, its reader gets the field first. */
export function sentenceRef(text: string): TextRef {
  const { field, detail } = OF_A_FIELD.exec(text)?.groups ?? {};
  return field === undefined || detail === undefined
    ? textRef('problem.detail', { detail: text })
    : problemAt(field, textRef('problem.detail', { detail }));
}

/** In the order of the file. */
export function byPlace(a: ConfigProblem, b: ConfigProblem): number {
  return a.place.localeCompare(b.place, 'en', { numeric: true });
}

/** The error as people read it on a terminal. */
export function lineOf(problem: ConfigProblem): string {
  return inEnglish.text(problem.textRef);
}

/** One line per error, as many as people read. */
export function problemLines(problems: readonly ConfigProblem[]): string[] {
  const lines = problems.slice(0, MAX_PROBLEMS).map(lineOf);
  return problems.length > MAX_PROBLEMS ? [...lines, `and ${problems.length - MAX_PROBLEMS} more`] : lines;
}

/** The one error for all of them. */
export function configError(problems: readonly ConfigProblem[]): ConfigError {
  return new ConfigError(
    'bad_config',
    withItems('The configuration cannot be used:', problemLines(problems)),
  );
}
