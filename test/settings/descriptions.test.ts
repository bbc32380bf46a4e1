/** What the settings mean: described for each of them, also in German. */
import { expect, it } from 'vitest';
import { channels } from '../../channels/index.ts';
import { fileSchemaFor } from '../../src/config-schema.ts';
import { keysOf } from '../../src/settings/schema-file.ts';
import { PROFILE_SETTINGS, profileSchema } from '../../src/protocol/agent/profile.ts';
import { describedIn, descriptionsOf, jsonSchema } from '../../src/settings/index.ts';
import GERMAN from '../../src/settings/languages/de.json' with { type: 'json' };
import type { SettingKey } from '../../src/protocol/texts/say.ts';
import { settingsOf } from '../docs/settings.ts';

const schema = jsonSchema(fileSchemaFor(channels));
const profile = jsonSchema(profileSchema);
/** Of `config.json` and, below `profiles`, of a profile. */
const english = new Map([...descriptionsOf(schema), ...descriptionsOf(profile, PROFILE_SETTINGS)]);
const isOfSetting = (entry: [string, unknown]): entry is [SettingKey, string] =>
  entry[0].startsWith('setting.');
const german = new Map<string, string>(Object.entries(GERMAN).filter(isOfSetting));
const inGerman: Readonly<Record<SettingKey, string>> = Object.fromEntries(german);
const keyOf = (path: string): string => keysOf(path).find((key) => german.has(key)) ?? 'none';

it('is in the schema for every setting, without links of the pages', () => {
  const named = settingsOf(fileSchemaFor(channels)).map(({ name }) => name.replaceAll('<name>', '*'));
  expect(named.length).toBeGreaterThan(140);
  expect(named.filter((name) => !english.has(name))).toEqual([]);
  expect([...english].filter(([, text]) => text.includes(']('))).toEqual([]);
  expect(english.get('mcp.servers')).toMatch(/^MCP servers by name/);
});

it('is in German for every setting', () => {
  const told = new Map([
    ...descriptionsOf(describedIn(schema, inGerman)),
    ...descriptionsOf(describedIn(profile, inGerman, PROFILE_SETTINGS), PROFILE_SETTINGS),
  ]);
  expect([...english].filter(([path, text]) => told.get(path) === text)).toEqual([]);
});

it('is not in German for any setting that does not exist', () => {
  const used = new Set([...english.keys()].map(keyOf));
  expect([...german.keys()].filter((key) => !used.has(key))).toEqual([]);
});

it('names the same values and fields in German as in English', () => {
  const codeOf = (text = ''): string[] =>
    [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code.replaceAll(/<[^>]*>/g, '<>')).toSorted();
  const differ = [...english].filter(
    ([path, text]) => codeOf(text).join() !== codeOf(german.get(keyOf(path))).join(),
  );
  expect(differ).toEqual([]);
});

it('falls back to the schema’s description when a language has none', () => {
  const told = descriptionsOf(describedIn(schema, { 'setting.access.*.dm': 'Qui peut écrire.' }));
  expect(told.get('access.slack.dm')).toBe('Qui peut écrire.');
  expect(told.get('access.slack.allow')).toBe(english.get('access.slack.allow'));
});

it('has a name for every setting that a form shows, in English and in German', () => {
  const formed = [describedIn(schema, inGerman), describedIn(profile, inGerman, PROFILE_SETTINGS)];
  expect(formed.flatMap((one) => unnamed(one))).toEqual([]);
  expect(namesIn(describedIn(schema, {}))).toContain('Messages per minute and person');
  const table = { ...inGerman, 'name.limits.messagesAtOnce': 'Auf einmal' } as const;
  expect(namesIn(describedIn(schema, table))).toContain('Auf einmal');
});

interface Named {
  title?: string;
  properties?: Record<string, Named>;
}

/** The paths of values without a name; `$schema` is for editors. */
function unnamed({ title, properties }: Named, path = ''): string[] {
  if (properties === undefined) return title === undefined && path !== '.$schema' ? [path] : [];
  return Object.entries(properties).flatMap(([name, inner]) => unnamed(inner, `${path}.${name}`));
}

function namesIn({ title, properties = {} }: Named): (string | undefined)[] {
  return [title, ...Object.values(properties).flatMap(namesIn)];
}
