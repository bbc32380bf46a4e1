/** Two small reference renderers: one counts only words, as Telegram does, one counts its markup, as Discord does. */
import type { List, Nodes, Root } from 'mdast';
import type { Rendered } from '../../src/protocol/channel.ts';

/** HTML-like markup; `length` counts the words without it. */
export function renderLight(doc: Root): Rendered {
  const plain = show(doc, false);
  return { text: show(doc, true), plain, length: plain.length };
}

/** Markdown markup; `length` counts everything. */
export function renderHeavy(doc: Root): Rendered {
  const text = show(doc, true);
  return { text, plain: show(doc, false), length: text.length };
}

function show(node: Nodes, markup: boolean): string {
  const kids = (joiner: string) =>
    'children' in node ? node.children.map((child) => show(child, markup)).join(joiner) : '';
  const wrap = (mark: string, inner: string) => (markup ? mark + inner + mark : inner);
  switch (node.type) {
    case 'root':
      return kids('\n\n');
    case 'blockquote':
      return kids('\n\n').replace(/^/gm, '> ');
    case 'heading':
      return wrap('**', kids(''));
    case 'strong':
      return wrap('**', kids(''));
    case 'emphasis':
      return wrap('_', kids(''));
    case 'delete':
      return wrap('~~', kids(''));
    case 'inlineCode':
      return wrap('`', node.value);
    case 'code':
      return markup ? `\`\`\`${node.lang ?? ''}\n${node.value}\n\`\`\`` : node.value;
    case 'link':
      return markup ? `[${kids('')}](${node.url})` : kids('');
    case 'image':
      return node.alt ?? '';
    case 'list':
      return node.children.map((item, index) => marker(node, index) + show(item, markup)).join('\n');
    case 'listItem':
      return kids('\n');
    case 'table':
      return kids('\n');
    case 'tableRow':
      return kids(' | ');
    case 'break':
      return '\n';
    case 'thematicBreak':
      return '———';
    case 'text':
    case 'html':
      return node.value;
    default:
      return kids('');
  }
}

function marker(list: List, index: number): string {
  return list.ordered === true ? `${(list.start ?? 1) + index}. ` : '• ';
}
