/** Plain text within Markdown. Pure. */

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
