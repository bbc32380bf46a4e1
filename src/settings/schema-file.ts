/** JSON schemas next to the files that people write: editors use them for completion and checks. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { toGatewayError } from '../protocol/errors.ts';
import type { Log } from '../protocol/log.ts';
import { pause } from '../lib/async/sleep.ts';
import { ENGLISH } from '../protocol/texts/english.ts';
import type { SettingKey, TextTable } from '../protocol/texts/say.ts';
import { isJsonObject } from '../lib/json/json.ts';

/** Existing files are compared this long after the start, in milliseconds: work that the start resumes goes first. */
const COMPARED_AFTER_MS = 5_000;

/** The JSON Schema of a file with these fields, its descriptions without links to other pages. */
export function jsonSchema(schema: z.ZodObject): Readonly<Record<string, unknown>> {
  const described = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  // Editors and the form have no other pages to link to.
  return describedBy(described, (_path, description) => description.replaceAll(LINK, '$1'));
}

/** The same as a file. Editors that support it allow comments and trailing commas, too. */
function jsonSchemaOf(schema: z.ZodObject): string {
  const { $schema, ...fields } = jsonSchema(schema);
  return `${JSON.stringify({ $schema, allowComments: true, allowTrailingCommas: true, ...fields }, undefined, 2)}\n`;
}

/**
 * Writes missing schema files at once, and after a while those that differ. Ends early when the signal aborts. Never
 * rejects: without them only editors lose something.
 */
export async function writeSchemaFiles(
  files: Readonly<Record<string, () => z.ZodObject>>,
  log: Log,
  signal: AbortSignal,
  afterMs = COMPARED_AFTER_MS,
): Promise<void> {
  const { missing = [], existing = [] } = Object.groupBy(Object.entries(files), ([file]) =>
    existsSync(file) ? 'existing' : 'missing',
  );
  for (const [file, schema] of missing) writeSchemaFile(file, schema(), log);
  await pause(afterMs, signal);
  if (signal.aborted) return;
  for (const [file, schema] of existing) writeSchemaFile(file, schema(), log);
}

function writeSchemaFile(file: string, schema: z.ZodObject, log: Log): void {
  try {
    const text = jsonSchemaOf(schema);
    if (contentOf(file) !== text) writeFileSync(file, text, { mode: 0o600 });
  } catch (error) {
    log.warn({ err: toGatewayError(error), file }, 'schema_file_not_written');
  }
}

function contentOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // It does not exist yet, or writing it will report why it cannot be used.
    return undefined;
  }
}

/** JSON Schema. */
type Schema = Readonly<Record<string, unknown>>;

/** Words that lead to another page, in the Markdown of docs/configuration.md. */
const LINK = /\[([^[\]]{1,200})\]\([^()\s]{1,200}\)/g;

type Describe = (path: string, description: string) => string;
/** The name of a setting for people; undefined for one without. */
type NameOf = (path: string) => string | undefined;

/**
 * The schema in the language of a table that has the settings below `path`: what each is called (`title`) and what it does
 * (`description`). What the table lacks is in English.
 */
export function describedIn(schema: Schema, table: TextTable, path = ''): Schema {
  const textOf = (field: string): string | undefined =>
    keysOf(field)
      .map((key) => table[key])
      .find((text) => text !== undefined);
  return describedBy(
    schema,
    (field, description) => textOf(field) ?? description,
    path,
    (field) => nameOf(field, table),
  );
}

/** What people call a setting, by its path. */
function nameOf(path: string, table: TextTable): string | undefined {
  const key = patternsOf(path)
    .map((pattern) => `name.${pattern}`)
    .find(isName);
  const name = key && (table[key] ?? ENGLISH[key]);
  return typeof name === 'string' ? name : undefined;
}

function isName(key: string): key is keyof typeof ENGLISH & `name.${string}` {
  return Object.hasOwn(ENGLISH, key);
}

/** What the schema says about each setting below `under`, by path: `limits.messagesPerMinute`, `providers.*.kind`. */
export function descriptionsOf(schema: Schema, under = ''): ReadonlyMap<string, string> {
  const descriptions = new Map<string, string>();
  describedBy(
    schema,
    (path, description) => {
      descriptions.set(path, description);
      return description;
    },
    under,
  );
  return descriptions;
}

/** The keys that may describe a setting: its path, and the path with a star for one name (`setting.access.*.dm`). */
export function keysOf(path: string): SettingKey[] {
  return patternsOf(path).map((pattern): SettingKey => `setting.${pattern}`);
}

function patternsOf(path: string): string[] {
  const names = path.split('.');
  return [path, ...names.map((_, nth) => names.with(nth, '*').join('.'))];
}

/** A copy with descriptions from `describe`; a star stands for a record's names and a list's entries. */
function describedBy(schema: Schema, describe: Describe, path = '', name: NameOf = () => undefined): Schema {
  const inner = (child: string): string => (path === '' ? child : `${path}.${child}`);
  const title = schema['description'] === undefined ? undefined : name(path);
  const entries = Object.entries(schema).map(([keyword, value]): [string, unknown] => {
    switch (keyword) {
      case 'description':
        return [keyword, typeof value === 'string' ? describe(path, value) : value];
      case 'properties':
        return [keyword, mapped(value, (child, key) => describedBy(child, describe, inner(key), name))];
      case 'additionalProperties':
      case 'items':
        return [keyword, isJsonObject(value) ? describedBy(value, describe, inner('*'), name) : value];
      case 'anyOf':
      case 'oneOf':
      case 'allOf':
        return [
          keyword,
          Array.isArray(value)
            ? value.map((one: unknown) => (isJsonObject(one) ? describedBy(one, describe, path, name) : one))
            : value,
        ];
      default:
        return [keyword, value];
    }
  });
  return Object.fromEntries(title === undefined ? entries : [['title', title], ...entries]);
}

function mapped(value: unknown, map: (child: Schema, name: string) => Schema): unknown {
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, child]) => [name, isJsonObject(child) ? map(child, name) : child]),
  );
}
