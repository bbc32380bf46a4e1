/** Reads Telegram's HTML as the Bot API server does (TDLib `parse_html`, `clean_input_string`): same tags, same refusals. */
import { badRequest } from './refusal.ts';

/** A piece of formatting; offsets and lengths in UTF-16 units of the visible text. */
export interface FakeEntity {
  type: string;
  offset: number;
  length: number;
  url?: string;
  language?: string;
}

/** What people see of a text. */
export interface VisibleText {
  text: string;
  entities: FakeEntity[];
}

const TAGS = new Map(
  Object.entries({
    b: 'bold',
    strong: 'bold',
    i: 'italic',
    em: 'italic',
    u: 'underline',
    ins: 'underline',
    s: 'strikethrough',
    strike: 'strikethrough',
    del: 'strikethrough',
    'tg-spoiler': 'spoiler',
    span: 'spoiler',
    code: 'code',
    pre: 'pre',
    a: 'text_link',
    blockquote: 'blockquote',
  }),
);

interface OpenTag {
  name: string;
  argument: string;
  offset: number;
}

const refuse = (why: string): Error => badRequest(`can't parse entities: ${why}`);
const byteOffset = (source: string, at: number): number => Buffer.byteLength(source.slice(0, at));

/** The visible text of an HTML source. Throws the server's "can't parse entities" refusals. */
export function readHtml(source: string): VisibleText {
  let text = '';
  const entities: FakeEntity[] = [];
  const open: OpenTag[] = [];
  let at = 0;
  while (at < source.length) {
    if (source[at] === '&') {
      const decoded = decodeReference(source, at);
      text += decoded.text;
      at = decoded.end;
    } else if (source[at] !== '<') {
      text += source[at];
      at += 1;
    } else if (source[at + 1] === '/') {
      at = readEndTag(source, at, open, text, entities);
    } else {
      const tag = readStartTag(source, at);
      open.push({ name: tag.name, argument: tag.argument, offset: text.length });
      at = tag.end;
    }
  }
  const unclosed = open.at(-1);
  if (unclosed) throw refuse(`Can't find end tag corresponding to start tag ${unclosed.name}`);
  if (!text.isWellFormed())
    throw refuse(
      'Text contains invalid Unicode characters after decoding HTML entities, check for unmatched surrogate code units',
    );
  return { text, entities };
}

/** Only these names and numeric references are decoded; anything else stays as it is written. */
function decodeReference(source: string, at: number): { text: string; end: number } {
  const match = /^&(?:(lt|gt|amp|quot)|#(\d{1,7})|#x([\da-f]{1,6}))(;?)/i.exec(source.slice(at, at + 12));
  const named = { lt: '<', gt: '>', amp: '&', quot: '"' }[match?.[1] ?? ''];
  if (match && named !== undefined) return { text: named, end: at + match[0].length };
  const code = match?.[2] === undefined ? Number.parseInt(match?.[3] ?? '0', 16) : Number(match[2]);
  if (!match || code === 0 || code >= 0x10_ff_ff) return { text: '&', end: at + 1 };
  return { text: String.fromCodePoint(code), end: at + match[0].length };
}

function readStartTag(source: string, at: number): { name: string; argument: string; end: number } {
  const where = byteOffset(source, at);
  const rest = source.slice(at + 1);
  const raw = /^[^\s>]*/.exec(rest)?.[0] ?? '';
  if (raw.length === rest.length) throw refuse(`Unclosed start tag at byte offset ${where}`);
  const name = raw.toLowerCase();
  if (!TAGS.has(name)) throw refuse(`Unsupported start tag "${name}" at byte offset ${where}`);
  let argument = '';
  let end = at + 1 + raw.length;
  for (;;) {
    end += /^\s*/.exec(source.slice(end))?.[0].length ?? 0;
    if (source[end] === '>') break;
    if (name === 'blockquote' && /^expandable(?=[\s>])/i.test(source.slice(end))) {
      argument = 'expandable';
      end += 'expandable'.length;
      continue;
    }
    const attribute = /^([^\s=]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([\w.-]*)(?=[\s>]))/.exec(source.slice(end));
    if (!attribute) {
      throw refuse(
        end >= source.length
          ? `Unclosed start tag "${name}" at byte offset ${where}`
          : `Expected equal sign in declaration of an attribute of the tag "${name}" at byte offset ${where}`,
      );
    }
    const value = unescapeAttribute(attribute[2] ?? attribute[3] ?? attribute[4]?.toLowerCase() ?? '');
    if (name === 'a' && attribute[1] === 'href') argument = value;
    if (name === 'code' && attribute[1] === 'class' && value.startsWith('language-'))
      argument = value.slice(9);
    if (name === 'span' && attribute[1] === 'class' && value.startsWith('tg-')) argument = value.slice(3);
    end += attribute[0].length;
  }
  if (name === 'span' && argument !== 'spoiler')
    throw refuse(`Tag "span" must have class "tg-spoiler" at byte offset ${where}`);
  return { name, argument, end: end + 1 };
}

function unescapeAttribute(value: string): string {
  return value.replace(/&[#\w]+;?/g, (reference) => {
    const decoded = decodeReference(reference, 0);
    return decoded.text + reference.slice(decoded.end);
  });
}

function readEndTag(
  source: string,
  at: number,
  open: OpenTag[],
  text: string,
  entities: FakeEntity[],
): number {
  const where = byteOffset(source, at);
  const tag = open.pop();
  if (!tag) throw refuse(`Unexpected end tag at byte offset ${where}`);
  const match = /^<\/([^\s>]*)\s*>/.exec(source.slice(at));
  if (!match) throw refuse(`Unclosed end tag at byte offset ${where}`);
  const found = match[1]?.toLowerCase() ?? '';
  if (found !== '' && found !== tag.name) {
    throw refuse(`Unmatched end tag at byte offset ${where}, expected "</${tag.name}>", found "</${found}>"`);
  }
  const entity = entityOf(tag, text, entities);
  if (entity) entities.push(entity);
  return at + match[0].length;
}

/** The entity a closed tag creates; undefined for an empty one and for a link that Telegram does not follow. */
function entityOf(tag: OpenTag, text: string, entities: FakeEntity[]): FakeEntity | undefined {
  const { offset } = tag;
  const length = text.length - offset;
  if (length === 0) return undefined;
  if (tag.name === 'a') {
    const url = tag.argument === '' ? text.slice(offset) : tag.argument;
    return isFollowedLink(url) ? { type: 'text_link', offset, length, url } : undefined;
  }
  const last = entities.at(-1);
  const covers = last?.offset === offset && last.length === length;
  if (tag.name === 'pre' && last?.type === 'code' && covers && last.language !== undefined) {
    last.type = 'pre';
    return undefined;
  }
  const language = tag.name === 'code' && tag.argument !== '' ? tag.argument : undefined;
  const folded = tag.name === 'blockquote' && tag.argument !== '';
  const type = folded ? 'expandable_blockquote' : (TAGS.get(tag.name) ?? '');
  return { type, offset, length, ...(language === undefined ? {} : { language }) };
}

/** `get_checked_link`: http, https, ton, tg and tonsite only, with a host; an address without a scheme is http. */
function isFollowedLink(url: string): boolean {
  try {
    const { protocol, hostname } = new URL(/^[a-z][a-z0-9+.-]*:/i.test(url) ? url : `http://${url}`);
    if (['tg:', 'ton:', 'tonsite:'].includes(protocol)) return true;
    return ['http:', 'https:'].includes(protocol) && hostname !== '';
  } catch {
    return false;
  }
}

/** What the server keeps of a text: no control characters, no line marks, no surrounding white space. */
export function cleanVisible(visible: VisibleText): VisibleText {
  const clean = (text: string): string =>
    text
      .replace(/\p{Cc}/gu, (mark) => (mark === '\n' || mark > '\u001F' ? mark : mark === '\r' ? '' : ' '))
      .replace(/[\u2028-\u202E]|\u0333|\u033F|\u030A/g, '')
      .replace(/[\u200E\u200F](?=[\u200E\u200F])/g, '\u200C');
  const whole = clean(visible.text);
  const text = whole.replace(/^[ \n]+|[ \n]+$/g, '');
  const lead = whole.length - whole.replace(/^[ \n]+/, '').length;
  const entities = visible.entities.flatMap((entity) => {
    const offset = Math.max(0, clean(visible.text.slice(0, entity.offset)).length - lead);
    const end = clean(visible.text.slice(0, entity.offset + entity.length)).length - lead;
    const length = Math.min(end, text.length) - offset;
    return length > 0 && text.slice(offset, offset + length).trim() !== ''
      ? [{ ...entity, offset, length }]
      : [];
  });
  return { text, entities };
}
