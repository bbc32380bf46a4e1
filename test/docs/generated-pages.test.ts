/** The pages with generated tables against the code that they are generated from. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { channels } from '../../channels/index.ts';
import { fileSchemaFor } from '../../src/config-schema.ts';
import { profileSchema } from '../../src/protocol/agent/profile.ts';
import { NO_DESCRIPTION, renderPage, TABLES } from './generated-pages.ts';
import { globSync } from 'node:fs';
import { channelManifestOf } from '../../src/plugins/channel-facts.ts';
import { readManifest } from '../../src/plugins/manifest.ts';
import { codeBlocks, PAGES, readText, ROOT, tableRows } from './pages.ts';
import { settingsOf } from './settings.ts';
import { readTable } from '../../src/settings/language-file.ts';

const fileSchema = fileSchemaFor(channels);
/** With the plug-ins of this repository added, as their pages say. */
const pluginSchema = fileSchemaFor([
  ...channels,
  ...globSync('plugins/*/parley.plugin.json', { cwd: ROOT }).flatMap(
    (file) => channelManifestOf(readManifest(readText(file))) ?? [],
  ),
]);

describe.each([...new Set(TABLES.map(({ page }) => page))])('the generated page %s', (page) => {
  it('is as "npm run docs" writes it', () => {
    expect(readText(page), 'run: npm run docs').toBe(renderPage(page, readText(page)));
  });

  it('explains every row', () => {
    expect(tableRows(page).filter((cells) => ['', NO_DESCRIPTION].includes(cells.at(-1) ?? ''))).toEqual([]);
  });
});

describe.each(TABLES)('the table "$name"', ({ page, name, rows }) => {
  it('lists everything with what the code says about it, and nothing else', () => {
    const text = readText(page);
    const part = text.slice(text.indexOf(`<!-- begin ${name}:`), text.indexOf(`<!-- end ${name} -->`));
    const shown = [...part.matchAll(/^\| `([^`]+)` \|(?: `(.*?)` )?/gm)].map(
      ([, row, cell = '']) => `${row} = ${cell}`,
    );
    expect(shown.length).toBeGreaterThan(10);
    expect(shown).toEqual(rows().map((row) => `${row.name} = ${row.cells[0]}`));
  });
});

describe('the example of the configuration page', () => {
  it('is a config.json that is accepted', () => {
    const [example] = codeBlocks('docs/configuration.md').filter(({ language }) => language === 'json');
    expect(fileSchema.parse(JSON.parse(example?.text ?? '')).access.owners.telegram).toEqual(['123456789']);
  });
});

describe('every settings file on any page', () => {
  // Those on the page about extending need its code; test/docs/extending.test.ts starts a gateway with them.
  const examples = PAGES.filter((page) => page !== 'docs/extending.md')
    .flatMap((page) => codeBlocks(page))
    .filter(({ language }) => language === 'json');

  it.each(examples)('is accepted: $page, line $line', ({ text }) => {
    const content: unknown = JSON.parse(text);
    const isLanguage = 'table' in readTable(text, 'languages/fr.json', []);
    const accepted =
      isLanguage ||
      [fileSchema, pluginSchema, profileSchema].some((schema) => schema.safeParse(content).success);
    expect(accepted, `accepted: ${text}`).toBe(true);
  });
});

describe('the settings of a schema', () => {
  it('are named by their path, with defaults of objects inside objects', () => {
    const inner = z.strictObject({ size: z.int().default(3).describe('how big') }).prefault({});
    expect(settingsOf(z.strictObject({ outer: z.strictObject({ inner }).prefault({}) }))).toEqual([
      { name: 'outer.inner.size', fallback: '3', description: 'how big' },
    ]);
  });

  it('have <name> where the reader chooses a key, with the fields of all kinds', () => {
    const kinds = z.discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('a'), speed: z.int().default(1) }),
      z.strictObject({ kind: z.literal('b'), colour: z.string().optional() }),
    ]);
    const names = settingsOf(z.strictObject({ servers: z.record(z.string(), kinds).default({}) })).map(
      ({ name, fallback }) => `${name} ${fallback}`,
    );
    expect(names).toEqual([
      'servers {}',
      'servers.<name>.kind ',
      'servers.<name>.speed 1',
      'servers.<name>.colour ',
    ]);
  });
});
