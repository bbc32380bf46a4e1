/** Settings: files that people write, and their current values, which may change while the gateway runs. */
import { type TextRef, textRef } from './texts/say.ts';
import { z } from 'zod';
import { closestNames } from '../lib/text.ts';

/** A field of a file, from the top: `['access', 'telegram', 'allow', 0]`. */
export type FieldPath = readonly PropertyKey[];

/** A field and its new value; undefined removes it, so that it has its default. */
export interface ConfigChange {
  path: readonly (string | number)[];
  value?: unknown;
}

/** A JSON file with comments and trailing commas, as far as it could be parsed. */
export interface JsonText {
  /** The content; if there are errors, as much as could be parsed. */
  value: unknown;
  /** Syntax errors, in the order of the text. */
  errors: readonly { place: string; what: TextRef }[];
  /** The position of a field, or of the nearest field around it: `:3:14` for line and column; '' in an empty file. */
  placeOf: (path: FieldPath) => string;
}

/** Reads such a file. Never throws. */
export type ReadJson = (text: string) => JsonText;

/** Watched folders. */
export interface FolderWatch {
  /** The folders to watch from now on. Never throws. */
  folders(paths: readonly string[]): void;
  close(): void;
}

/** Calls `changed`, which must not throw, after changes in the folders, and from time to time in any case. */
export type WatchFolders = (changed: () => void) => FolderWatch;

/** Puts already checked settings into effect. Never throws. */
export type ApplySettings = () => void;

/** The current settings: one frozen object, which a change replaces as a whole. */
export interface Settings<Values> {
  /** A turn reads it once, when it starts, and keeps it. */
  current(): Values;
  /**
   * Takes part in every change. `prepare` checks the next settings and may refuse them with a `ConfigError`, which
   * leaves everything unchanged. It returns what to do when they take effect, for all participants in the same tick.
   */
  subscribe(prepare: (next: Values) => ApplySettings | Promise<ApplySettings>): void;
}

/** What people should know about the settings. */
export interface SettingsReport {
  /** What is currently wrong with the file, by line and field: its last valid content applies until that is fixed. */
  errors: readonly string[];
  /** Changed fields that take effect after a restart. */
  needsRestart: readonly string[];
}

/** The name of an environment variable, as a field of a settings file. */
export function variableName() {
  return z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable');
}

/** A part of the settings; for the same object it always returns the same part. */
export function partOf<Values extends object, Part>(
  settings: Settings<Values>,
  select: (values: Values) => Part,
): Settings<Part> {
  const partsByValues = new WeakMap<Values, { part: Part }>();
  const read = (values: Values): Part => {
    const entry = partsByValues.get(values) ?? { part: select(values) };
    partsByValues.set(values, entry);
    return entry.part;
  };
  return {
    current: () => read(settings.current()),
    subscribe: (prepare) => settings.subscribe((next) => prepare(read(next))),
  };
}

type Issue = z.core.$ZodIssue;

/** How zod's own sentences begin; any other is that of a schema, which says more. */
const GENERAL_SENTENCE = /^(?:Too|Invalid) /;

/** Kinds of values by the names that zod gives them. */
const KINDS: Readonly<Record<string, TextRef>> = {
  string: textRef('problem.kind.text'),
  number: textRef('problem.kind.number'),
  int: textRef('problem.kind.whole'),
  boolean: textRef('problem.kind.switch'),
  array: textRef('problem.kind.list'),
  object: textRef('problem.kind.object'),
};

/** A problem and where it is: a file with line and column, then its field. */
export function problemAt(place: string | TextRef, problem: TextRef): TextRef {
  return textRef('problem.at', { place, what: problem });
}

/** A problem of a field; without a path, of the file as a whole. */
export function problemOfField(path: readonly PropertyKey[], problem: TextRef): TextRef {
  return problemAt(path.length === 0 ? textRef('problem.file') : path.map(String).join('.'), problem);
}

/**
 * One entry per error of a schema: where, what; never the value, which may be a secret. With the schema itself, an unknown
 * field is reported with the field that was probably meant.
 */
export function schemaProblems(error: z.ZodError, schema?: z.ZodType): { path: FieldPath; what: TextRef }[] {
  return error.issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((key) => ({
        path: [...issue.path, key],
        what: unknownField(key, schema, issue.path),
      }));
    const [cause = issue] = issue.code === 'invalid_key' ? issue.issues : [];
    return [{ path: issue.path, what: textOfIssue(cause) }];
  });
}

function unknownField(key: string, schema: z.ZodType | undefined, path: FieldPath): TextRef {
  const [near] = closestNames(key, fieldsAt(schema, path));
  const [place, ...others] = placesOf(key, schema);
  const field = near ?? (others.length === 0 ? place : undefined);
  return field === undefined
    ? textRef('problem.unknown_field')
    : textRef('problem.misspelt_field', { field });
}

/** Every field of that name in the objects of a schema: `schedules.timeZone`. */
function placesOf(name: string, schema: unknown, path = ''): string[] {
  if (schema instanceof z.ZodPipe) return placesOf(name, schema.in, path);
  if (isWrapper(schema)) return placesOf(name, schema.unwrap(), path);
  if (!(schema instanceof z.ZodObject)) return [];
  return Object.entries(schema.shape).flatMap(([field, inner]) =>
    field === name ? [`${path}${field}`] : placesOf(name, inner, `${path}${field}.`),
  );
}

/** The fields of the object at a path of a schema, through everything that wraps it. */
function fieldsAt(schema: unknown, path: FieldPath): string[] {
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((option) => fieldsAt(option, path));
  if (schema instanceof z.ZodPipe) return [...fieldsAt(schema.in, path), ...fieldsAt(schema.out, path)];
  if (isWrapper(schema)) return fieldsAt(schema.unwrap(), path);
  const [step, ...rest] = path;
  if (schema instanceof z.ZodObject)
    return step === undefined ? Object.keys(schema.shape) : fieldsAt(schema.shape[String(step)], rest);
  if (step === undefined) return [];
  if (schema instanceof z.ZodRecord) return fieldsAt(schema.valueType, rest);
  return schema instanceof z.ZodArray ? fieldsAt(schema.element, rest) : [];
}

function isWrapper(schema: unknown): schema is { unwrap: () => unknown } {
  return [z.ZodOptional, z.ZodNullable, z.ZodDefault, z.ZodPrefault, z.ZodReadonly].some(
    (kind) => schema instanceof kind,
  );
}

/** What an issue of a schema says, with its limits. */
function textOfIssue(issue: Issue): TextRef {
  if (!GENERAL_SENTENCE.test(issue.message)) return textRef('problem.detail', { detail: issue.message });
  switch (issue.code) {
    case 'invalid_type':
      return textRef('problem.kind', { kind: KINDS[issue.expected] ?? issue.expected });
    case 'invalid_value':
      return textRef('problem.choice', { choices: issue.values.map(String).join(', ') });
    case 'too_small':
      return tooSmall(issue) ?? asItIs(issue);
    case 'too_big':
      return tooBig(issue) ?? asItIs(issue);
    default:
      return asItIs(issue);
  }
}

function tooSmall({
  origin,
  minimum,
  inclusive,
}: Extract<Issue, { code: 'too_small' }>): TextRef | undefined {
  if (inclusive === false) return undefined;
  const count = Number(minimum);
  if (origin === 'string') return textRef('problem.shortest', { count });
  return isNumber(origin) ? textRef('problem.least', { least: count }) : undefined;
}

function tooBig({ origin, maximum, inclusive }: Extract<Issue, { code: 'too_big' }>): TextRef | undefined {
  if (inclusive === false) return undefined;
  const count = Number(maximum);
  if (origin === 'string') return textRef('problem.longest', { count });
  if (origin === 'array') return textRef('problem.fullest', { count });
  return isNumber(origin) ? textRef('problem.most', { most: count }) : undefined;
}

function isNumber(origin: string): boolean {
  return origin === 'number' || origin === 'int';
}

function asItIs({ message }: Issue): TextRef {
  return textRef('problem.other', { detail: message });
}
