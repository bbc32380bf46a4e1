/**
 * `npm run docs`: writes the tables of docs/configuration.md, docs/tools.md and docs/http-api.md from the schemas, the list
 * of tools, and the fields of the HTTP API, the pages under docs/api, and the types of the example client.
 * Descriptions come from the code; those of tools may be edited on the page, which then keeps them.
 */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  COMPLETION_FIELDS,
  type FieldTable,
  RESPONSE_FIELDS,
} from '../../channels/http/model-apis/fields.ts';
import { channels } from '../../channels/index.ts';
import { ENV_NODE, launchAgent, STATE_HOME, systemUnit } from '../../src/commands/service/service-files.ts';
import { environmentSchemaFor, fileSchemaFor } from '../../src/config-schema.ts';
import { profileSchema } from '../../src/protocol/agent/profile.ts';
import { createTools } from '../../src/tools/index.ts';
import { toolOptions } from '../fakes/tool-options.ts';
import { API_PAGES, renderApiPage } from './api/api-pages.ts';
import { clientTypes, TYPES_FILE } from './client-types.ts';
import { cellsOf, readText, ROOT, tableRows } from './pages.ts';
import { settingsOf } from './settings.ts';

const environmentSchema = environmentSchemaFor(channels);
const fileSchema = fileSchemaFor(channels);

/** Placeholder where the code has no description; a test fails as long as it is there. */
export const NO_DESCRIPTION = '(no description yet)';

/** One row: its name, the cells that come from the code, and the code's own description, '' = none. */
export interface Row {
  name: string;
  cells: string[];
  description: string;
}

/** A generated table; it stands on its page between "begin" and "end" with its name. */
export interface GeneratedTable {
  page: string;
  name: string;
  head: string[];
  rows: () => Row[];
  /** True: a description on the page takes precedence over the code's, which only starts a new row. */
  pageFirst?: boolean;
}

export const TABLES: readonly GeneratedTable[] = [
  {
    page: 'docs/configuration.md',
    name: 'environment',
    head: ['variable', 'default', 'meaning'],
    rows: () =>
      settingRows(environmentSchema).map((row) => ({
        ...row,
        cells: row.cells.map((cell) => cell.replaceAll('"', '')),
      })),
  },
  {
    page: 'docs/configuration.md',
    name: 'file',
    head: ['field', 'default', 'meaning'],
    rows: () => settingRows(fileSchema),
  },
  {
    page: 'docs/configuration.md',
    name: 'profile',
    head: ['field', 'default', 'meaning'],
    rows: () => settingRows(profileSchema),
  },
  {
    page: 'docs/tools.md',
    name: 'tools',
    head: ['tool', 'effect', 'results', 'what it does'],
    rows: toolRows,
    // The code's description is written for the model.
    pageFirst: true,
  },
  {
    page: 'docs/http-api.md',
    name: 'completion fields',
    head: ['field', 'it is', 'how'],
    rows: () => fieldRows(COMPLETION_FIELDS),
  },
  {
    page: 'docs/http-api.md',
    name: 'response fields',
    head: ['field', 'it is', 'how'],
    rows: () => fieldRows(RESPONSE_FIELDS),
  },
];

/** Fields of a route; the notes come from the code. */
function fieldRows(table: FieldTable): Row[] {
  return Object.entries(table).map(([name, { use, note }]) => ({ name, cells: [use], description: note }));
}

function settingRows(schema: Parameters<typeof settingsOf>[0]): Row[] {
  return settingsOf(schema).map(({ name, fallback, description }) => ({
    name,
    cells: [fallback],
    description,
  }));
}

function toolRows(): Row[] {
  return createTools(toolOptions).map(({ name, effect, results, description }) => ({
    name,
    cells: [effect, results],
    description,
  }));
}

/** The page with its tables as the code has them now. Throws if the place of a table is missing. */
export function renderPage(page: string, old: string): string {
  return TABLES.filter((table) => table.page === page).reduce(renderTable, old);
}

function renderTable(text: string, { page, name, head, rows, pageFirst }: GeneratedTable): string {
  const place = new RegExp(`(<!-- begin ${name}:[^\\n]*-->\\n)([\\s\\S]*?)(<!-- end ${name} -->)`);
  const [, begin, old = '', end] = place.exec(text) ?? [];
  if (begin === undefined || end === undefined) throw new Error(`${page} lacks "begin ${name}:"`);
  const written = new Map(
    old
      .split('\n')
      .map(cellsOf)
      .map((cells) => [cells[0], cells.at(-1)]),
  );
  const lines = rows().map((row) => {
    const own = escapeCell(row.description);
    const onPage = pageFirst === true ? written.get(`\`${row.name}\``) : undefined;
    const what = onPage || own || NO_DESCRIPTION;
    const cells = row.cells.map((cell) => (cell === '' ? '' : `\`${escapeCell(cell)}\``));
    return lineOf([`\`${row.name}\``, ...cells, what]);
  });
  const table = [lineOf(head), `|${'---|'.repeat(head.length)}`, ...lines, ''].join('\n');
  return text.replace(place, () => `${begin}${table}${end}`);
}

function lineOf(cells: string[]): string {
  return `|${cells.map((cell) => (cell === '' ? ' ' : ` ${cell} `)).join('|')}|`;
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ');
}

/** `.env.example`: every variable with the page's description of it, none set. */
export function renderEnvExample(): string {
  const said = new Map(tableRows('docs/configuration.md').map((cells) => [cells[0], cells.at(-1) ?? '']));
  const entries = settingRows(environmentSchema).map(({ name, cells: [fallback = ''] }) => {
    const about = (said.get(`\`${name}\``) ?? '')
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replaceAll('`', '');
    return `# ${about}\n# ${name}=${fallback.replaceAll('"', '')}\n`;
  });
  const head =
    '# Every variable, with its default. Take out the # before those you set, in a copy called .env (mode 0600).';
  return `${head}\n# Written by "npm run docs" from docs/configuration.md.\n\n${entries.join('\n')}`;
}

/** The files of docs/service that `parley service` writes for a machine, with places to be replaced. */
export const SERVICE_FILES: readonly { file: string; text: () => string }[] = [
  {
    file: 'docs/service/parley.service',
    text: () => `# A systemd unit for a clone in /srv/parley, run by a user of its own. Written by "npm run docs"; "parley service install" writes
# the one of your machine.
#   useradd --system --home-dir /var/lib/parley --shell /usr/sbin/nologin parley
#   cp docs/service/parley.service /etc/systemd/system/ && systemctl daemon-reload && systemctl enable --now parley
#   journalctl -u parley -f
${systemUnit({ folder: '/srv/parley', home: STATE_HOME, node: ENV_NODE, account: 'parley', exec: false })}`,
  },
  {
    file: 'docs/service/org.parley.gateway.plist',
    text: () =>
      launchAgent(
        { folder: '/Users/you/parley', home: '/Users/you/.parley', node: '/opt/homebrew/bin/node' },
        '/Users/you/Library/Logs/parley.log',
      ).replace(
        '<plist',
        '<!-- A launch agent for macOS, written by "npm run docs"; "parley service install" writes the one of your Mac. Otherwise replace /Users/you by your home folder, and the path of node by what `which node` prints. -->\n<plist',
      ),
  },
];

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const page of new Set(TABLES.map((table) => table.page)))
    writeFileSync(path.join(ROOT, page), renderPage(page, readText(page)));
  for (const page of API_PAGES) writeFileSync(path.join(ROOT, page.file), renderApiPage(page));
  for (const { file, text } of SERVICE_FILES) writeFileSync(path.join(ROOT, file), text());
  writeFileSync(path.join(ROOT, '.env.example'), renderEnvExample());
  writeFileSync(path.join(ROOT, TYPES_FILE), await clientTypes());
}
