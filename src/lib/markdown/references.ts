/** Reference links in Markdown, `[text][id]`, written out as links: parsers of pieces do not see their definitions. Pure. */
import { changeProse } from './prose.ts';

/** Longest name and text of a reference, in UTF-16 units. */
const MAX_LABEL = 200;

/** `[id]: https://example.org "title"`, alone in its line. A footnote is none. */
const DEFINITION =
  /^ {0,3}\[([^[\]^][^[\]]{0,199})\]:[ \t]*<?((?:https?:\/\/|mailto:)[^\s<>]+)>?(?:[ \t]+(?:"[^"]*"|'[^']*'|\([^()]*\)))?[ \t]*$/i;

/** Code, in which nothing is a reference, or `[text][id]`, `[id][]`, `[id]`. */
const USE = new RegExp(
  String.raw`(?<!\`)(\`+)(?!\`)[^\`](?:[^]{0,1000}?[^\`])??\1(?!\`)|(?<![\\\]!])\[((?:\\[^]|[^\[\]\\]){1,${MAX_LABEL}})\](?:\[([^\[\]]{0,${MAX_LABEL}})\]|(?![(\[:]))`,
  'g',
);

/**
 * A whole text with its reference links written out and their definitions left out; definitions that nothing refers to
 * stay. Numbers in brackets keep these: they are how models cite. Never throws.
 */
export function resolveReferences(markdown: string): string {
  const targets = definitionsIn(markdown);
  if (targets.size === 0) return markdown;
  const used = new Set<string>();
  const linked = changeProse(markdown, (prose) =>
    prose
      .split('\n')
      .map((line) => (DEFINITION.test(line) ? line : withLinks(line, targets, used)))
      .join('\n'),
  );
  return changeProse(linked, (prose) =>
    prose
      .split('\n')
      .filter((line) => !used.has(keyOf(DEFINITION.exec(line)?.[1] ?? '')))
      .join('\n'),
  );
}

/** The first definition of a name counts. */
function definitionsIn(markdown: string): Map<string, string> {
  const targets = new Map<string, string>();
  if (!markdown.includes(']:')) return targets;
  changeProse(markdown, (prose) => {
    for (const line of prose.split('\n')) {
      const [, id, target] = DEFINITION.exec(line) ?? [];
      if (id !== undefined && target !== undefined && !targets.has(keyOf(id))) targets.set(keyOf(id), target);
    }
    return prose;
  });
  return targets;
}

function withLinks(line: string, targets: ReadonlyMap<string, string>, used: Set<string>): string {
  return line.replace(USE, (whole: string, _ticks, text?: string, id?: string) => {
    if (text === undefined) return whole;
    const key = keyOf(id === undefined || id === '' ? text : id);
    const target = targets.get(key);
    if (target === undefined) return whole;
    used.add(key);
    const shown = /^\d+$/.test(text) ? `&#91;${text}&#93;` : text;
    return `[${shown}](<${target}>)`;
  });
}

/** Names are compared as CommonMark does: without case, blanks as one. */
function keyOf(id: string): string {
  return id.trim().replace(/\s+/g, ' ').toLowerCase();
}
