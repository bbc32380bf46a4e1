/** What is wrong with a configuration: in English for a terminal and the log, and as texts for a reader of another language. */
import type { z } from 'zod';
import { ConfigError } from '../contracts/errors.ts';
import { problemAt, problemOfField, textOfIssue } from '../contracts/operator/file-problems.ts';
import { inEnglish, textRef } from '../contracts/texts/say.ts';
import type { FieldPath, JsonText } from '../contracts/settings.ts';
import type { TextRef } from '../contracts/texts/say.ts';

/** Errors that are reported for one configuration; a file may have thousands. */
const MAX_TOLD = 50;

/** A name of a variable or field, and what is wrong with it. */
const OF_A_FIELD = /^(?<field>[\w.-]+): (?<detail>.*)$/s;

/** One error. */
export interface ConfigProblem {
  /** The file with line and column, '' for a variable. */
  place: string;
  /** In English; it begins with the variable or field. */
  text: string;
  /** The same with its place, for a reader of any language. */
  words: TextRef;
}

/** An error at a place of the file, or without one. */
export function problemOf(place: string, words: TextRef): ConfigProblem {
  return { place, text: inEnglish.text(words), words: place === '' ? words : problemAt(place, words) };
}

/** Errors in the syntax of the file. */
export function syntaxProblems(file: string, errors: JsonText['errors']): ConfigProblem[] {
  return errors.map(({ place, message }) =>
    problemOf(file + place, textRef('problem.json', { detail: message })),
  );
}

/** An error that is not in the file. */
export function elsewhere(text: string): ConfigProblem {
  return problemOf('', wordsOf(text));
}

/** An English sentence; if it begins with a field, its reader gets the field first. */
export function wordsOf(text: string): TextRef {
  const { field, detail } = OF_A_FIELD.exec(text)?.groups ?? {};
  return field === undefined || detail === undefined
    ? textRef('problem.said', { detail: text })
    : problemAt(field, textRef('problem.said', { detail }));
}

/** One entry per error: where, what; never the value, which may be a secret. */
export function issuesOf(error: z.ZodError): { path: FieldPath; words: TextRef }[] {
  return error.issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((key) => issueAt([...issue.path, key], textRef('problem.unknown_field')));
    const [why = issue] = issue.code === 'invalid_key' ? issue.issues : [];
    return [issueAt(issue.path, textOfIssue(why))];
  });
}

function issueAt(path: FieldPath, what: TextRef): { path: FieldPath; words: TextRef } {
  return { path, words: problemOfField(path, what) };
}

/** In the order of the file. */
export function byPlace(a: ConfigProblem, b: ConfigProblem): number {
  return a.place.localeCompare(b.place, 'en', { numeric: true });
}

/** The error as people read it on a terminal. */
export function lineOf({ words }: ConfigProblem): string {
  return inEnglish.text(words);
}

/** One line per error, as many as people read. */
export function problemLines(problems: readonly ConfigProblem[]): string[] {
  const lines = problems.slice(0, MAX_TOLD).map(lineOf);
  return problems.length > MAX_TOLD ? [...lines, `and ${problems.length - MAX_TOLD} more`] : lines;
}

/** The one error for all of them. */
export function configError(problems: readonly ConfigProblem[]): ConfigError {
  const list = problemLines(problems).map((line) => `  - ${line}`);
  return new ConfigError('bad_config', ['The configuration cannot be used:', ...list].join('\n'));
}
