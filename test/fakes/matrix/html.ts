/**
 * Reads Matrix's HTML as strictly as the specification defines it ("m.room.message msgtypes"): only its tags, closed,
 * with its attributes.
 */

/** The tags of the specification, with the attributes that each may have. */
const TAGS: Readonly<Record<string, readonly string[]>> = Object.fromEntries([
  ...'del h1 h2 h3 h4 h5 h6 blockquote p ul sup sub li b i u strong em s code hr br div table thead tbody tr th td caption pre details summary'
    .split(' ')
    .map((tag) => [tag, tag === 'code' ? ['class'] : []]),
  ['a', ['href', 'target']],
  ['ol', ['start']],
]);
const EMPTY = new Set(['br', 'hr']);
/** A new line begins after these. */
const BLOCKS = new Set(
  'h1 h2 h3 h4 h5 h6 blockquote p ul ol li hr div table tr pre details summary'.split(' '),
);
/** Where each may appear. */
const PARENTS: Readonly<Record<string, readonly string[]>> = {
  li: ['ul', 'ol'],
  thead: ['table'],
  tbody: ['table'],
  tr: ['thead', 'tbody', 'table'],
  th: ['tr'],
  td: ['tr'],
};
const MAX_DEPTH = 100;
/** Where a new line begins, and where an empty one precedes it: no text that people write has these characters. */
const LINE = '\uE000';
const APART = '\uE001';
const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"' };

/** What people see of an HTML text. Throws for anything a client would drop or correct. */
export function readHtml(source: string): string {
  let text = '';
  const open: string[] = [];
  for (const [token] of source.matchAll(/<[^<>]*>|&[^;&<>\s]*;?|[^<&]+|[<&]/g)) {
    if (token.startsWith('<')) text += readTag(token, open);
    else if (token.startsWith('&')) text += readReference(token);
    else text += checked(token);
  }
  if (open.length > 0) throw new Error(`the tag ${open.at(-1)} is not closed`);
  const trimmed = text.replaceAll(/^[\uE000\uE001\n]+|[\uE000\uE001\n]+$/g, '');
  return trimmed.replaceAll(/[\uE000\uE001]+/g, (run) => (run.includes(APART) ? '\n\n' : '\n'));
}

/** The characters that count as the text's length: line breaks only where they are written. */
export function lengthOf(source: string): number {
  return source
    .replaceAll('<br>', '\n')
    .replaceAll(/<[^<>]*>/g, '')
    .replaceAll(/&(?:amp|lt|gt|quot);/g, '.').length;
}

function readTag(token: string, open: string[]): string {
  const [, slash = '', name = '', rest = ''] =
    /^<(\/?)([a-z]+[1-6]?)((?: [a-z]+="[^"]*")*)>$/.exec(token) ?? [];
  const allowed = TAGS[name];
  if (allowed === undefined) throw new Error(`no tag of Matrix: ${token}`);
  if (slash === '/') {
    if (open.pop() !== name || rest !== '') throw new Error(`${token} closes another tag`);
    return name === 'td' || name === 'th' ? ' ' : lineOf(name);
  }
  for (const [, attribute = '', value = ''] of rest.matchAll(/ ([a-z]+)="([^"]*)"/g)) {
    if (!allowed.includes(attribute)) throw new Error(`no attribute of ${name}: ${attribute}`);
    if (attribute === 'href' && !/^(?:https?|ftp|mailto|magnet):/i.test(value))
      throw new Error(`no link: ${value}`);
    if (attribute === 'class' && !/^language-\S+$/.test(value)) throw new Error(`no class: ${value}`);
    if (attribute === 'start' && !/^\d+$/.test(value)) throw new Error(`no number: ${value}`);
  }
  const parents = PARENTS[name];
  if (parents !== undefined && !parents.includes(open.at(-1) ?? ''))
    throw new Error(`${name} within ${open.at(-1)}`);
  if (name === 'a' && open.includes('a')) throw new Error('a link within a link');
  if (!EMPTY.has(name)) open.push(name);
  if (open.length > MAX_DEPTH) throw new Error('tags within too many others');
  return name === 'br' ? '\n' : lineOf(name);
}

/** Paragraphs have an empty line around them, other blocks a separate line. */
function lineOf(name: string): string {
  return name === 'p' ? APART : BLOCKS.has(name) ? LINE : '';
}

function readReference(token: string): string {
  const read = NAMED[token.slice(1, -1)];
  if (read === undefined) throw new Error(`a character that is not escaped: ${token}`);
  return read;
}

function checked(text: string): string {
  if (!text.isWellFormed() || text.includes('\0') || text.includes('>'))
    throw new Error(`no text: ${JSON.stringify(text)}`);
  return text;
}
