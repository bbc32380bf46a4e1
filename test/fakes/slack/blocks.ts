/** Checks blocks as Slack does (Block Kit reference: fields, lengths, counts), and reads what people see of them. */
import { z } from 'zod';
import { drawTable } from '../../../src/lib/markdown/text-table.ts';
import { Refusal } from './workspace.ts';

/** Characters of JSON of a message's blocks: 13,172 were refused (github.com/slackapi/bolt-js/issues/2509). */
const MAX_JSON = 13_100;

const style = z.strictObject({
  bold: z.boolean().optional(),
  italic: z.boolean().optional(),
  strike: z.boolean().optional(),
  code: z.boolean().optional(),
});
const run = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: z.string().min(1), style: style.optional() }),
  z.strictObject({
    type: z.literal('link'),
    url: z.url({ protocol: /^https?$|^mailto$/ }).max(3_000),
    text: z.string().min(1).optional(),
    style: style.optional(),
  }),
]);
const elements = z.array(run).min(1);
const section = z.strictObject({ type: z.literal('rich_text_section'), elements });
const part = z.discriminatedUnion('type', [
  section,
  z.strictObject({ type: z.literal('rich_text_quote'), elements, border: z.int().optional() }),
  z.strictObject({ type: z.literal('rich_text_preformatted'), elements, border: z.int().optional() }),
  z.strictObject({
    type: z.literal('rich_text_list'),
    style: z.enum(['bullet', 'ordered']),
    indent: z.int().min(0).max(8).optional(),
    offset: z.int().min(0).optional(),
    elements: z.array(section).min(1),
  }),
]);
const parts = z.array(part).min(1);

const blockId = z.string().max(255).optional();
const button = z.strictObject({
  type: z.literal('button'),
  text: z.strictObject({
    type: z.literal('plain_text'),
    text: z.string().min(1).max(75),
    emoji: z.boolean().optional(),
  }),
  action_id: z.string().min(1).max(255),
  value: z.string().max(2_000).optional(),
  style: z.enum(['primary', 'danger']).optional(),
});
/** "Table block": rows and cells with their limits; a cell may not be empty. */
const cell = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('raw_text'), text: z.string().min(1) }),
  z.strictObject({ type: z.literal('rich_text'), elements: z.array(section).length(1) }),
]);
const table = z.strictObject({
  type: z.literal('table'),
  rows: z.array(z.array(cell).min(1).max(20)).min(1).max(100),
  column_settings: z
    .array(z.strictObject({ align: z.enum(['left', 'center', 'right']), is_wrapped: z.boolean() }))
    .max(20),
  block_id: blockId,
});
/** Characters in all cells of a message (github.com/NousResearch/hermes-agent/pull/52746). */
const MAX_CELL_CHARS = 10_000;
const block = z.discriminatedUnion('type', [
  table,
  z.strictObject({ type: z.literal('rich_text'), elements: parts, block_id: blockId }),
  z.strictObject({ type: z.literal('actions'), elements: z.array(button).min(1).max(25), block_id: blockId }),
]);
const blocksShape = z.array(block).max(50);
type Block = z.infer<typeof block>;

/** The blocks of a call. Throws `Refusal`. */
export function checkBlocks(given: unknown): Block[] {
  const { data, error } = blocksShape.safeParse(given);
  if (data === undefined)
    throw new Refusal('invalid_blocks', { response_metadata: { messages: [error?.message] } });
  const ids = data.flatMap((one) =>
    one.type === 'actions' ? one.elements.map(({ action_id: id }) => id) : [],
  );
  if (new Set(ids).size < ids.length) throw new Refusal('invalid_blocks');
  const tables = data.filter((one) => one.type === 'table');
  if (tables.length > 1) throw new Refusal('only_one_table_allowed');
  const cells = tables.flatMap(({ rows }) => rows.flat().map(cellText).join(''));
  if (cells.join('').length > MAX_CELL_CHARS) throw new Refusal('invalid_blocks');
  if (JSON.stringify(data).length > MAX_JSON) throw new Refusal('msg_blocks_too_long');
  return data;
}

/** What people see of a message's rich text and its table, as if it were drawn. */
export function visibleOf(blocks: unknown): string {
  const lines = blocksShape.parse(blocks).flatMap((one) => {
    if (one.type === 'table') {
      const aligned = one.column_settings.map(({ align }) => align);
      return [
        drawTable(
          one.rows.map((row) => row.map(cellText)),
          aligned,
        ),
      ];
    }
    return one.type === 'rich_text' ? [seen(one.elements)] : [];
  });
  return lines.join('\n');
}

function cellText(one: z.infer<typeof cell>): string {
  return one.type === 'raw_text' ? one.text : seen(one.elements);
}

/** The buttons under a message: label and value. */
export function buttonsOf(blocks: unknown): { label: string; value: string; style?: string }[] {
  return blocksShape
    .parse(blocks ?? [])
    .flatMap((one) => (one.type === 'actions' ? one.elements : []))
    .map((one) => ({
      label: one.text.text,
      value: one.value ?? '',
      ...(one.style !== undefined && { style: one.style }),
    }));
}

/** What people see of the parts of a rich text: every part begins on a new line. */
function seen(all: z.infer<typeof parts>): string {
  const lines: string[] = [];
  for (const one of all) {
    if (one.type === 'rich_text_list') {
      for (const [at, item] of one.elements.entries()) {
        const number = at + 1 + (one.offset ?? 0);
        const mark = one.style === 'bullet' ? '•' : `${number}.`;
        lines.push(' '.repeat(2 * (one.indent ?? 0)) + `${mark} ${textOf(item.elements)}`);
      }
    } else lines.push(textOf(one.elements));
  }
  return lines.join('\n');
}

function textOf(runs: z.infer<typeof run>[]): string {
  return runs.map((one) => one.text ?? ('url' in one ? one.url : '')).join('');
}
