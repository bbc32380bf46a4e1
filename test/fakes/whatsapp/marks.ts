/**
 * How WhatsApp shows the marks in a text (faq.whatsapp.com, "How to format your messages": *bold*, _italic_, ~strike~,
 * `code`, ```block```, `> ` quotes, `- ` and `1. ` lists). A mark counts only next to a border of words, with no space on its
 * inner side, and with its twin on the same line.
 */

const INLINE =
  /(?<![\p{L}\p{N}\u2060*_~`])([*_~`])(?![\s*_~`])([^\n]*?)(?<![\s\u2060])\1(?![\p{L}\p{N}\u2060])/gu;

/** What people see. */
export function visibleText(text: string): string {
  const parts = text.split(/(^```\n[\s\S]*?\n```$)/m);
  return parts
    .map((part, at) => (at % 2 === 1 ? part.slice(4, -4) : withoutMarks(part)))
    .join('')
    .replaceAll('\u2060', '');
}

function withoutMarks(text: string): string {
  let shown = text;
  // Marks may stand in each other.
  for (let depth = 0; depth < 4; depth += 1) {
    const next = shown.replaceAll(INLINE, '$2');
    if (next === shown) break;
    shown = next;
  }
  return shown;
}
