/** `parley config`: checks `config.json`, shows a setting, and changes one without touching the comments around it. */
import { existsSync } from 'node:fs';
import { applyEdits, modify } from 'jsonc-parser';
import { ConfigError, GatewayError, toGatewayError } from '../protocol/errors.ts';
import type { FieldPath } from '../protocol/settings.ts';
import { type ConfigProblem, lineOf, syntaxProblems } from './config-problems.ts';
import { closestNames, withItems } from '../lib/text.ts';
import { changeWhole, configText, EMPTY_CONFIG } from './write-file.ts';
import { readJson } from './read-json.ts';
import { PARLEY } from '../protocol/texts/parley.ts';

const USAGE = `Expected: config validate | get [FIELD] | set FIELD VALUE | unset FIELD, with fields such as limits.messagesPerMinute. See: ${PARLEY} --help`;

/** What a check of the file's content finds. */
export interface FileCheck {
  problems: readonly ConfigProblem[];
  /** The fields with their defaults; undefined if the content is invalid. */
  values: Readonly<Record<string, unknown>> | undefined;
  /** A sentence for each thing that has no effect, or is open to others. */
  warnings: readonly string[];
}

/** The file, and how its content is checked. */
export interface ConfigFile {
  file: string;
  check: (text: string) => FileCheck;
  /** The fields that differ between two contents and take effect only after a restart. */
  needsRestart: (before: string, after: string) => readonly string[];
  /** Fields, and groups of them, whose changes always do. */
  afterRestart: readonly string[];
}

/** Reads the arguments after `config`. Throws `GatewayError('usage')`. */
export function configCommand(args: readonly string[]): (file: ConfigFile) => string {
  const [action, field, value, ...more] = args;
  if (more.length > 0) throw new GatewayError('usage', USAGE);
  if (action === 'validate' && field === undefined) return validate;
  if (action === 'get' && value === undefined) return (config) => get(config, field);
  if (action === 'set' && field !== undefined && value !== undefined)
    return (config) => set(config, field, valuesOf(value));
  if (action === 'unset' && field !== undefined && value === undefined)
    return (config) => set(config, field, [undefined]);
  throw new GatewayError('usage', USAGE);
}

function validate({ file, check }: ConfigFile): string {
  const { problems, warnings } = check(configText(file));
  if (problems.length > 0) throw refusal('The configuration cannot be used:', problems);
  const head = existsSync(file) ? `${file} is valid.` : `There is no ${file}: every setting has its default.`;
  return warnings.length === 0 ? head : withItems(`${head} But:`, warnings);
}

/** Texts are printed verbatim, everything else as JSON. */
function get({ file, check }: ConfigFile, field: string | undefined): string {
  const { problems, values } = check(configText(file));
  if (values === undefined) throw refusal('The configuration cannot be used:', problems);
  let value: unknown = values;
  for (const key of field === undefined ? [] : pathOf(field)) {
    const parent = value;
    value = childOf(parent, key);
    if (value !== undefined) continue;
    const [close] = closestNames(
      key,
      typeof parent === 'object' && parent !== null ? Object.keys(parent) : [],
    );
    const hint = close === undefined ? `"${PARLEY} config get" shows all` : `did you mean ${close}?`;
    throw new GatewayError('usage', `${field} is not set, or there is no such field; ${hint}`);
  }
  return typeof value === 'string' ? value : JSON.stringify(value, undefined, 2);
}

/** Writes the first of the values that the check accepts. Errors that were there before do not count. */
function set({ file, check, needsRestart }: ConfigFile, field: string, values: readonly unknown[]): string {
  return changeWhole(file, (content) => {
    const oldText = content ?? EMPTY_CONFIG;
    const { errors } = readJson(oldText);
    if (errors.length > 0) {
      const broken = syntaxProblems(file, errors);
      throw refusal('Nothing was changed; correct the file first:', broken);
    }
    const oldProblems = new Set(check(oldText).problems.map(({ text }) => text));
    let newProblems: FileCheck['problems'] = [];
    for (const value of values) {
      const newText = editedText(oldText, pathOf(field), value);
      const problems = check(newText).problems.filter(({ text }) => !oldProblems.has(text));
      if (problems.length === 0) {
        if (newText === oldText) return { after: undefined, result: `${field} stays as it was.` };
        return { after: newText, result: changeText(field, value, needsRestart(oldText, newText)) };
      }
      if (newProblems.length === 0) newProblems = problems;
    }
    throw refusal('Nothing was changed:', newProblems);
  });
}

function changeText(field: string, value: unknown, restart: readonly string[]): string {
  const outcome = value === undefined ? `${field} has its default again.` : `${field} is set.`;
  return restart.length === 0
    ? `${outcome} A running gateway applies it automatically.`
    : `${outcome} It needs a restart of the gateway.`;
}

/** What a word on the command line may mean: JSON if it is valid, else the text itself. */
function valuesOf(word: string): unknown[] {
  const { value, errors } = readJson(word);
  return errors.length === 0 ? [value, word] : [word];
}

/** The text with that field set, or removed if the value is undefined; comments stay. Throws `GatewayError('usage')`. */
export function editedText(text: string, field: readonly string[], value: unknown): string {
  const content = readJson(text).value;
  const path: (string | number)[] = [];
  let parent: unknown = content;
  for (const key of field) {
    path.push(Array.isArray(parent) && /^\d+$/.test(key) ? Number(key) : key);
    parent = childOf(parent, key);
  }
  try {
    const eol = text.includes('\r\n') ? '\r\n' : '\n';
    const formattingOptions = { insertSpaces: true, tabSize: 2, eol };
    const edited = applyEdits(text, modify(text, path, value, { formattingOptions }));
    return edited.endsWith('\n') ? edited : edited + eol;
  } catch (error) {
    throw new GatewayError('usage', `${field.join('.')} cannot be changed: ${toGatewayError(error).message}`);
  }
}

/** `limits.messagesPerMinute`, or a JSON array of names if one of them contains a dot. */
function pathOf(field: string): string[] {
  const { value, errors } = field.startsWith('[') ? readJson(field) : { value: field.split('.'), errors: [] };
  const names = Array.isArray(value) && errors.length === 0 ? value.map(String) : [];
  if (names.length === 0 || names.includes('')) throw new GatewayError('usage', USAGE);
  return names;
}

/** What is below a name or an index; undefined if nothing is. */
export function childOf(parent: unknown, key: FieldPath[number]): unknown {
  if (typeof parent !== 'object' || parent === null || !Object.hasOwn(parent, key)) return undefined;
  return Object.getOwnPropertyDescriptor(parent, key)?.value;
}

function refusal(title: string, problems: readonly ConfigProblem[]): ConfigError {
  return new ConfigError('bad_config', withItems(title, problems.map(lineOf)));
}
