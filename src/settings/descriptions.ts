/** What the settings of `config.json` mean, in the language of the form's reader. Pure. */
import type { SettingKey, TextTable } from '../protocol/texts/say.ts';
import { isJsonObject } from '../lib/json/json.ts';

/** JSON Schema. */
type Schema = Readonly<Record<string, unknown>>;

/** Words that lead to another page, in the Markdown of docs/configuration.md. */
const LINK = /\[([^[\]]{1,200})\]\([^()\s]{1,200}\)/g;

/** The schema with its descriptions without links: editors and the form have no other pages to link to. */
export function withoutLinks(schema: Schema): Schema {
  return describedBy(schema, (_path, description) => description.replaceAll(LINK, '$1'));
}

/**
 * The schema with its descriptions in the language of a table; what the table lacks stays unchanged. The table has the
 * settings of the file below `path`.
 */
export function describedIn(schema: Schema, table: TextTable, path = ''): Schema {
  return describedBy(
    schema,
    (field, description) =>
      keysOf(field)
        .map((key) => table[key])
        .find(isText) ?? description,
    path,
  );
}

/**
 * What the schema says about each setting, by its path, in its order: `limits.messagesPerMinute`, `providers.*.kind`; all
 * of them below `under`.
 */
export function descriptionsOf(schema: Schema, under = ''): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  describedBy(
    schema,
    (path, description) => {
      found.set(path, description);
      return description;
    },
    under,
  );
  return found;
}

/**
 * The keys under which a table may describe a setting: its path, and the path with a star for one name in it, so that
 * `setting.access.*.dm` describes every channel.
 */
export function keysOf(path: string): SettingKey[] {
  const names = path.split('.');
  const patterns = names.map((_, nth) => names.with(nth, '*').join('.'));
  return [path, ...patterns].map((one): SettingKey => `setting.${one}`);
}

function isText(found: string | undefined): found is string {
  return found !== undefined;
}

type Describe = (path: string, description: string) => string;

/**
 * A copy in which `describe` provides each description; a star stands for the names of a record and the entries of a
 * list.
 */
function describedBy(schema: Schema, describe: Describe, path = ''): Schema {
  const inner = (name: string): string => (path === '' ? name : `${path}.${name}`);
  const entries = Object.entries(schema).map(([keyword, value]): [string, unknown] => {
    switch (keyword) {
      case 'description':
        return [keyword, typeof value === 'string' ? describe(path, value) : value];
      case 'properties':
        return [keyword, mapped(value, (child, name) => describedBy(child, describe, inner(name)))];
      case 'additionalProperties':
      case 'items':
        return [keyword, isJsonObject(value) ? describedBy(value, describe, inner('*')) : value];
      case 'anyOf':
      case 'oneOf':
      case 'allOf':
        return [
          keyword,
          Array.isArray(value)
            ? value.map((one: unknown) => (isJsonObject(one) ? describedBy(one, describe, path) : one))
            : value,
        ];
      default:
        return [keyword, value];
    }
  });
  return Object.fromEntries(entries);
}

function mapped(value: unknown, map: (child: Schema, name: string) => Schema): unknown {
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, child]) => [name, isJsonObject(child) ? map(child, name) : child]),
  );
}
