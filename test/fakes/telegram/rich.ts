/** Rich messages of the fake Bot API, checked as its documentation says ("Rich Message Limits", `InputRichBlock`, `RichText`). */
import { badRequest, type Params, textOf } from './refusal.ts';

const MAX_CHARS = 32_768;
const MAX_BLOCKS = 500;
const MAX_LEVELS = 16;
const MAX_COLUMNS = 20;

/** Kinds of text with the field that each needs besides `text`. */
const TEXTS: Record<string, string | undefined> = {
  bold: undefined,
  italic: undefined,
  underline: undefined,
  strikethrough: undefined,
  spoiler: undefined,
  code: undefined,
  url: 'url',
  email_address: 'email_address',
  phone_number: 'phone_number',
};

/** A rich message as its reader sees it: texts block by block, a table as rows with `|`. */
export interface SeenRich {
  text: string;
  blocks: number;
  links: string[];
}

/** Reads an `InputRichMessage`. Throws 400 for anything the documentation does not allow. */
export function readRich(value: unknown): SeenRich {
  const message = objectOf(value, 'rich_message');
  const given = ['blocks', 'html', 'markdown'].filter((field) => message[field] !== undefined);
  if (given.length !== 1) throw badRequest('exactly one of blocks, html and markdown must be used');
  if (given[0] !== 'blocks') throw badRequest('this fake reads blocks only');
  if (message['skip_entity_detection'] !== undefined && message['skip_entity_detection'] !== true)
    throw badRequest('skip_entity_detection must be True');
  if (message['is_rtl'] !== undefined && message['is_rtl'] !== true) throw badRequest('is_rtl must be True');
  const reader = new Reader();
  const lines = reader.blocks(message['blocks'], 0);
  const text = lines.join('\n');
  if (text.trim() === '') throw badRequest('rich message is empty');
  if (text.length > MAX_CHARS) throw badRequest('rich message is too long');
  return { text, blocks: reader.count, links: reader.links };
}

class Reader {
  count = 0;
  readonly links: string[] = [];

  blocks(value: unknown, level: number): string[] {
    if (!Array.isArray(value) || value.length === 0)
      throw badRequest('blocks must be a list that is not empty');
    return value.flatMap((block) => this.#block(objectOf(block, 'block'), level + 1));
  }

  #block(block: Params, level: number): string[] {
    this.#countOne(level);
    switch (block['type']) {
      case 'paragraph':
        return [this.#text(block['text'], level, true)];
      case 'heading':
        if (![1, 2, 3, 4, 5, 6].includes(Number(block['size']))) throw badRequest('wrong size of a heading');
        return [this.#text(block['text'], level, true)];
      case 'pre':
      case 'expandable_blockquote':
        return [this.#text(block['text'], level, true)];
      case 'divider':
        return ['---'];
      case 'mathematical_expression':
        return [`$${stringOf(block['expression'], 'expression')}$`];
      case 'details':
        if (block['is_open'] !== undefined && block['is_open'] !== true)
          throw badRequest('is_open must be True');
        return [this.#text(block['summary'], level, true), ...this.blocks(block['blocks'], level)];
      case 'blockquote':
        return this.blocks(block['blocks'], level).map((line) => `> ${line}`);
      case 'list':
        return this.#list(block['items'], level);
      case 'table':
        return this.#table(block['cells'], level);
      default:
        throw badRequest(`unsupported block ${textOf(block['type'])}`);
    }
  }

  #list(items: unknown, level: number): string[] {
    if (!Array.isArray(items) || items.length === 0) throw badRequest('a list needs items');
    return items.flatMap((given) => {
      const item = objectOf(given, 'item');
      this.#countOne(level + 1);
      for (const flag of ['has_checkbox', 'is_checked'])
        if (item[flag] !== undefined && item[flag] !== true) throw badRequest(`${flag} must be True`);
      if (item['type'] !== undefined && !['a', 'A', 'i', 'I', '1'].includes(textOf(item['type'])))
        throw badRequest('wrong type of an item');
      const box = item['has_checkbox'] === true ? (item['is_checked'] === true ? '[x] ' : '[ ] ') : '';
      const number = item['value'] === undefined ? '- ' : `${textOf(item['value'])}. `;
      const [first = '', ...rest] = this.blocks(item['blocks'], level + 1);
      return [`${number}${box}${first}`, ...rest.map((line) => `  ${line}`)];
    });
  }

  #table(cells: unknown, level: number): string[] {
    if (!Array.isArray(cells) || cells.length === 0) throw badRequest('a table needs rows');
    return cells.map((row) => {
      this.#countOne(level + 1);
      if (!Array.isArray(row) || row.length === 0 || row.length > MAX_COLUMNS)
        throw badRequest('wrong number of columns');
      const texts = row.map((given) => {
        const cell = objectOf(given, 'cell');
        if (!['left', 'center', 'right'].includes(textOf(cell['align']))) throw badRequest('wrong align');
        if (!['top', 'middle', 'bottom'].includes(textOf(cell['valign']))) throw badRequest('wrong valign');
        return cell['text'] === undefined ? '' : this.#text(cell['text'], level + 1, true);
      });
      return `| ${texts.join(' | ')} |`;
    });
  }

  #text(value: unknown, level: number, isWhole = false): string {
    if (level > MAX_LEVELS) throw badRequest('too many levels of nesting');
    if (typeof value === 'string') {
      if (!value.isWellFormed()) throw badRequest('strings must be encoded in UTF-8');
      if (isWhole && value === '') throw badRequest('text must not be empty');
      return value;
    }
    if (Array.isArray(value)) {
      const text = value.map((one) => this.#text(one, level)).join('');
      if (isWhole && text === '') throw badRequest('text must not be empty');
      return text;
    }
    const mark = objectOf(value, 'text');
    const type = textOf(mark['type']);
    if (type === 'mathematical_expression') return stringOf(mark['expression'], 'expression');
    if (!(type in TEXTS)) throw badRequest(`unsupported text ${type}`);
    const field = TEXTS[type];
    if (field !== undefined) {
      const target = stringOf(mark[field], field);
      if (type === 'url' && !/^(https?|tg):\/\/\S+$/i.test(target)) throw badRequest('wrong URL');
      this.links.push(target);
    }
    return this.#text(mark['text'], level + 1, true);
  }

  #countOne(level: number): void {
    this.count += 1;
    if (this.count > MAX_BLOCKS) throw badRequest('too many blocks');
    if (level > MAX_LEVELS) throw badRequest('too many levels of nesting');
  }
}

function objectOf(value: unknown, what: string): Params {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw badRequest(`${what} must be an object`);
  return value as Params;
}

function stringOf(value: unknown, what: string): string {
  if (typeof value !== 'string' || value === '') throw badRequest(`${what} must not be empty`);
  return value;
}
