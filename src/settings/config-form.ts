/** `config.json` for a form: its schema, what it says without secrets, and changes that are checked before they are written. */
import { createHash } from 'node:crypto';
import type { z } from 'zod';
import type { Log } from '../protocol/log.ts';
import {
  type Administration,
  type ConfigChanged,
  type ConfigReport,
  SET_SECRET,
} from '../protocol/operator/administration.ts';
import { type ConfigChange, problemAt, type SettingsReport } from '../protocol/settings.ts';
import { PARLEY } from '../protocol/texts/parley.ts';
import { textRef, type TextRef } from '../protocol/texts/say.ts';
import { childOf, type ConfigFile, editedText } from './config-command.ts';
import { type ConfigProblem, MAX_PROBLEMS, syntaxProblems } from './config-problems.ts';
import { changeWhole, configText, EMPTY_CONFIG } from './write-file.ts';
import { isDeepStrictEqual } from 'node:util';
import { isJsonObject } from '../lib/json/json.ts';
import { readJson } from './read-json.ts';
import { describedIn, jsonSchema } from './schema-file.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Makes the part of the administration about `config.json`. `schema` describes the file, `variables` are the names of what
 * the environment may set.
 */
export function administerConfig(
  file: ConfigFile,
  schema: z.ZodObject,
  variables: readonly string[],
  settings: { current(): { environment: Environment }; report(): SettingsReport },
  log: Log,
): Pick<Administration, 'config' | 'changeConfig'> {
  const { environment } = settings.current();
  const fields = jsonSchema(schema);
  const setVariables = variables.map((name) => ({ name, isSet: environment[name] !== undefined }));
  return {
    config: (texts) => ({
      ...readConfigForm(file),
      schema: describedIn(fields, texts),
      environment: setVariables,
      needsRestart: settings.report().needsRestart,
      afterRestart: file.afterRestart,
    }),
    changeConfig(version, changes) {
      const result = changeConfigFile(file, version, changes);
      const names = changes.map(({ path }) => path.join('.'));
      if (result.kind === 'changed') log.info({ fields: names }, 'config_changed');
      return result;
    },
  };
}

/** What the form shows from the file. Throws `ConfigError` when it cannot be read. */
export function readConfigForm({
  file,
  check,
}: ConfigFile): Pick<ConfigReport, 'file' | 'version' | 'written' | 'values' | 'problems'> {
  const text = configText(file);
  const { problems, values } = check(text);
  return {
    file,
    version: versionOf(text),
    written: withoutSecrets(readJson(text).value),
    values: withoutSecrets(values ?? {}),
    problems: problems.map((problem) => problem.textRef),
  };
}

/**
 * Makes all changes or none; comments stay, and earlier errors do not count. Throws `ConfigError` if the file cannot be
 * read, `GatewayError('usage' | 'unwritable')` if a change has no place in it or it cannot be written.
 */
function changeConfigFile(
  { file, check, needsRestart }: ConfigFile,
  version: string,
  changes: readonly ConfigChange[],
): ConfigChanged {
  return changeWhole<ConfigChanged>(file, (content) => {
    const oldText = content ?? EMPTY_CONFIG;
    const unchanged = (result: ConfigChanged) => ({ after: undefined, result });
    if (versionOf(oldText) !== version) return unchanged({ kind: 'stale' });
    const { errors } = readJson(oldText);
    if (errors.length > 0) return unchanged(refusedFor(syntaxProblems(file, errors)));
    let newText = oldText;
    for (const { path, value } of changes) newText = editedText(newText, path.map(String), value);
    const programs = startedBy(oldText, newText);
    if (programs.length > 0) return unchanged({ kind: 'refused', problems: programs });
    const oldProblems = new Set(check(oldText).problems.map(({ text }) => text));
    const newProblems = check(newText).problems.filter(({ text }) => !oldProblems.has(text));
    if (newProblems.length > 0) return unchanged(refusedFor(newProblems));
    const fields = differences(check(oldText).values ?? {}, check(newText).values ?? {});
    const restartFields = needsRestart(oldText, newText);
    const atOnce = fields.filter((field) => !restartFields.includes(field));
    const output = newText === oldText ? undefined : newText;
    return {
      after: output,
      result: { kind: 'changed', version: versionOf(newText), atOnce, needsRestart: restartFields },
    };
  });
}

/** What says which program a server is; whoever sets it runs code as the gateway. */
const PROGRAM_FIELDS = ['command', 'args', 'env', 'cwd'];

/**
 * Problems for changes after which other programs start. Only who can use the machine may make them: a stolen sign-in or
 * token must not become code that runs as the gateway. Reads what is written, even if something else in it is wrong.
 */
function startedBy(oldText: string, newText: string): TextRef[] {
  const [was, is] = [readJson(oldText).value, readJson(newText).value];
  const exec = 'tools.exec';
  const servers = childOf(childOf(is, 'mcp'), 'servers');
  const names = isJsonObject(servers) ? Object.keys(servers) : [];
  const programs = names.flatMap((name) => {
    const [oldServer, server] = [was, is].map((content) =>
      childOf(childOf(childOf(content, 'mcp'), 'servers'), name),
    );
    if (childOf(server, 'command') === undefined) return [];
    const changed = PROGRAM_FIELDS.filter(
      (field) => !isDeepStrictEqual(childOf(oldServer, field), childOf(server, field)),
    );
    return changed.map((field) => `mcp.servers.${name}.${field}`);
  });
  const [oldExec, newExec] = [was, is].map((content) => childOf(childOf(content, 'tools'), 'exec'));
  const fields =
    newExec === undefined || newExec === false || newExec === oldExec ? programs : [...programs, exec];
  const command = `${PARLEY} config set`;
  return fields
    .slice(0, MAX_PROBLEMS)
    .map((field) => problemAt(field, textRef('problem.starts_programs', { command })));
}

function refusedFor(problems: readonly ConfigProblem[]): ConfigChanged {
  return { kind: 'refused', problems: problems.slice(0, MAX_PROBLEMS).map((problem) => problem.textRef) };
}

function versionOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}

/** Objects of the file whose texts may be secrets: what MCP servers get in their environment and headers. */
const SECRET_FIELDS = new Set(['env', 'headers']);
/** A reference to a variable, which does not reveal its value. */
const REFERENCE = /^\$\{\w+\}$/;
const PASSWORD = /:\/\/[^/\s@:]*:[^/\s@]+@/;

/** The value with `SET_SECRET` in place of texts that may be secrets. */
function withoutSecrets(value: unknown, isSecret = false): unknown {
  if (typeof value === 'string') {
    const isHidden = PASSWORD.test(value) || (isSecret && !REFERENCE.test(value));
    return isHidden ? SET_SECRET : value;
  }
  if (Array.isArray(value)) return value.map((one: unknown) => withoutSecrets(one, isSecret));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([name, inner]): [string, unknown] => [
    name,
    withoutSecrets(inner, isSecret || SECRET_FIELDS.has(name)),
  ]);
  return Object.fromEntries(entries);
}

type Fields = Readonly<Record<string, unknown>>;

/** The fields in which two objects differ, by dotted name; a list counts as one field. */
export function differences(oldFields: Fields, newFields: Fields): string[] {
  const names = new Set([...Object.keys(oldFields), ...Object.keys(newFields)]);
  return [...names].flatMap((name) => {
    const [was, is] = [oldFields[name], newFields[name]];
    if (isDeepStrictEqual(was, is)) return [];
    return isJsonObject(was) && isJsonObject(is)
      ? differences(was, is).map((inner) => `${name}.${inner}`)
      : [name];
  });
}
