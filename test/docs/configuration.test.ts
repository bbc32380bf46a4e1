/** The configuration page against the schemas that it is written from. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fileSchema } from '../../src/config.ts';
import { profileSchema } from '../../src/contracts/profile.ts';
import { CONFIGURATION_PAGE, NO_DESCRIPTION, renderConfigurationPage, TABLES } from './configuration-page.ts';
import { codeBlocks, PAGES, readText, tableRows } from './pages.ts';
import { settingsOf } from './settings.ts';

describe('the configuration page', () => {
  const page = readText(CONFIGURATION_PAGE);
  const rows = tableRows(CONFIGURATION_PAGE).map(([name = '', fallback = '', what = '']) => ({
    name: name.replaceAll('`', ''),
    fallback: fallback.replaceAll('`', ''),
    what,
  }));

  it('is as "npm run docs" writes it', () => {
    expect(page, 'run: npm run docs').toBe(renderConfigurationPage(page));
  });

  it.each(Object.entries(TABLES))(
    'lists every setting of the %s with its default, and no other',
    (name, read) => {
      const settings = read().map(({ name: setting, fallback }) => `${setting} = ${fallback}`);
      expect(settings.length).toBeGreaterThan(10);
      const from = page.indexOf(`<!-- begin ${name}`);
      const names = [...page.slice(from, page.indexOf(`<!-- end ${name}`)).matchAll(/^\| `([^`]+)`/gm)];
      const shown = names.map(([, setting]) => {
        const row = rows.find(
          (one) => one.name === setting && settings.includes(`${one.name} = ${one.fallback}`),
        );
        return `${setting} = ${row?.fallback}`;
      });
      expect(shown).toEqual(settings);
    },
  );

  it('says of every setting what it means', () => {
    expect(rows.filter(({ what }) => what === '' || what === NO_DESCRIPTION)).toEqual([]);
  });

  it('shows a config.json that is accepted', () => {
    const [example] = codeBlocks(CONFIGURATION_PAGE).filter(({ language }) => language === 'json');
    expect(fileSchema.parse(JSON.parse(example?.text ?? '')).access.owners.telegram).toEqual(['123456789']);
  });
});

describe('every settings file on any page', () => {
  const examples = PAGES.flatMap((page) => codeBlocks(page)).filter(({ language }) => language === 'json');

  it.each(examples)('is accepted: $page, line $line', ({ text }) => {
    const content: unknown = JSON.parse(text);
    const accepted = [fileSchema, profileSchema].some((schema) => schema.safeParse(content).success);
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
