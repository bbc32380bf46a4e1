/** Reference links in Markdown, `[text][id]`, written out as links: parsers of pieces do not see their definitions. Pure. */

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
 * A text with its reference links written out and used definitions left out. Numbers in brackets keep these: that is how
 * models cite. Never throws.
 */
export function resolveReferences(markdown: string): string {
  const targets = definitionsIn(markdown);
  if (targets.size === 0) return markdown;
  const usedNames = new Set<string>();
  const linked = changeProse(markdown, (prose) =>
    prose
      .split('\n')
      .map((line) => (DEFINITION.test(line) ? line : withLinks(line, targets, usedNames)))
      .join('\n'),
  );
  return changeProse(linked, (prose) =>
    prose
      .split('\n')
      .filter((line) => !usedNames.has(keyOf(DEFINITION.exec(line)?.[1] ?? '')))
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

function withLinks(line: string, targets: ReadonlyMap<string, string>, usedNames: Set<string>): string {
  return line.replace(USE, (whole: string, _ticks, text?: string, id?: string) => {
    if (text === undefined) return whole;
    const key = keyOf(id === undefined || id === '' ? text : id);
    const target = targets.get(key);
    if (target === undefined) return whole;
    usedNames.add(key);
    const label = /^\d+$/.test(text) ? `&#91;${text}&#93;` : text;
    return `[${label}](<${target}>)`;
  });
}

/** Names are compared as CommonMark does: without case, blanks as one. */
function keyOf(id: string): string {
  return id.trim().replace(/\s+/g, ' ').toLowerCase();
}

/** A line that begins or ends a block of code, also in quotes and lists. The lookaheads avoid quadratic time. */
const FENCE = /^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}(?!`)|~{3,}(?!~))([^]*)$/;

const NEVER_ENDS = '\0';

/** The text with each run of lines outside blocks of code changed; the lines of code stay as they are. Never throws. */
export function changeProse(markdown: string, change: (prose: string) => string): string {
  const parts: string[] = [];
  let prose: string[] = [];
  let fence = NEVER_ENDS;
  const flush = (): void => {
    if (prose.length > 0) parts.push(change(prose.join('\n')));
    prose = [];
  };
  for (const line of markdown.split('\n')) {
    const [, mark = '', info = ''] = FENCE.exec(line) ?? [];
    if (fence !== NEVER_ENDS) {
      parts.push(line);
      if (mark.startsWith(fence) && info.trim() === '') fence = NEVER_ENDS;
    } else if (mark === '' || (mark.startsWith('`') && info.includes('`'))) prose.push(line);
    else {
      flush();
      parts.push(line);
      fence = mark;
    }
  }
  flush();
  return parts.join('\n');
}

/** Brackets escaped with a backslash would be LaTeX's `\[…\]`: they become character references. */
const REFERENCES: Readonly<Record<string, string>> = { '[': '&#91;', ']': '&#93;' };

/** The text as Markdown that shows it unchanged: none of its characters is markup, and none begins a formula. Never throws. */
export function escapeMarkdown(text: string): string {
  return text
    .replaceAll(/[\\`*_{}[\]<>#|~!&$]/g, (character) => REFERENCES[character] ?? `\\${character}`)
    .replaceAll(/^([ \t]*)([-+]|\d{1,9}[.)])(?=[ \t]|$)/gm, escapedMarker)
    .replaceAll(/^([ \t]*)(=+|-+)(?=[ \t]*$)/gm, '$1\\$2');
}

/** `-` and `1.` at the start of a line would begin a list. */
function escapedMarker(_: string, indent: string, marker: string): string {
  return `${indent}${marker.slice(0, -1)}\\${marker.slice(-1)}`;
}
