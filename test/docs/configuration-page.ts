/**
 * `npm run docs`: writes the tables of docs/configuration.md from the schemas. Names and defaults are the schemas'; a
 * description is the schema's own, else the one that stands on the page already, where it may be edited.
 */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { environmentSchema, fileSchema } from '../../src/config.ts';
import { profileSchema } from '../../src/contracts/profile.ts';
import { cellsOf, readText, ROOT } from './pages.ts';
import { settingsOf } from './settings.ts';
import type { Setting } from './settings.ts';

export const CONFIGURATION_PAGE = 'docs/configuration.md';
/** Stands where a setting has no description anywhere; a test fails as long as it is there. */
export const NO_DESCRIPTION = '(no description yet)';

const HEADS = { environment: 'variable', file: 'field', profile: 'field' } as const;
type TableName = keyof typeof HEADS;

/** The settings of each table of the page. */
export const TABLES: Readonly<Record<TableName, () => Setting[]>> = {
  environment: () =>
    settingsOf(environmentSchema).map((one) => ({ ...one, fallback: one.fallback.replaceAll('"', '') })),
  file: () => settingsOf(fileSchema),
  profile: () => settingsOf(profileSchema),
};

/** The page with its tables as the schemas have them now. Throws when a place for a table is missing. */
export function renderConfigurationPage(page: string): string {
  return Object.entries(TABLES).reduce((text, [name, read]) => {
    const place = new RegExp(`(<!-- begin ${name}[^\\n]*-->\\n)([\\s\\S]*?)(<!-- end ${name} -->)`);
    const [, begin, old = '', end] = place.exec(text) ?? [];
    if (begin === undefined || end === undefined)
      throw new Error(`${CONFIGURATION_PAGE} lacks "begin ${name}"`);
    const written = new Map(
      old
        .split('\n')
        .map(cellsOf)
        .map(([key = '', , what = '']) => [key, what]),
    );
    const rows = read().map((setting) => rowOf(setting, written));
    const table = [`| ${HEADS[name as TableName]} | default | meaning |`, '|---|---|---|', ...rows, ''].join(
      '\n',
    );
    return text.replace(place, () => `${begin}${table}${end}`);
  }, page);
}

function rowOf({ name, fallback, description }: Setting, written: ReadonlyMap<string, string>): string {
  const what = description.replaceAll('|', '\\|') || written.get(`\`${name}\``) || NO_DESCRIPTION;
  return `| \`${name}\` |${fallback === '' ? ' ' : ` \`${fallback.replaceAll('|', '\\|')}\` `}| ${what} |`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(path.join(ROOT, CONFIGURATION_PAGE), renderConfigurationPage(readText(CONFIGURATION_PAGE)));
}
