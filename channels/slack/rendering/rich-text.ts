/** Slack's rich text: the part of a `rich_text` block that answers use, and how it reads (Block Kit, "Rich text block"). */

/** Marks of a run of text. */
export interface Style {
  bold?: true;
  italic?: true;
  strike?: true;
  code?: true;
}

/** A run of text, or a link. No text in one is read as markup: it cannot ping anyone. */
export type Run =
  | { type: 'text'; text: string; style?: Style }
  | { type: 'link'; url: string; text?: string; style?: Style };

export interface Section {
  type: 'rich_text_section' | 'rich_text_quote' | 'rich_text_preformatted';
  elements: Run[];
}

export interface List {
  type: 'rich_text_list';
  style: 'bullet' | 'ordered';
  /** 0-8. */
  indent: number;
  /** The number of list numbers before the first one. */
  offset?: number;
  elements: Section[];
}

/** A part of the message, which is on separate lines. */
export type Part = Section | List;

/** Deepest list that Slack shows. */
export const MAX_INDENT = 8;

/** The text of a message as people see it, without markup. */
export function plainTextOf(parts: readonly Part[]): string {
  return parts.map(textOfPart).join('\n');
}

function textOfPart(part: Part): string {
  if (part.type !== 'rich_text_list') return textOfRuns(part.elements);
  const first = (part.offset ?? 0) + 1;
  return part.elements
    .map(({ elements }, index) => {
      const mark = part.style === 'ordered' ? `${first + index}.` : '•';
      return `${'  '.repeat(part.indent)}${mark} ${textOfRuns(elements)}`;
    })
    .join('\n');
}

function textOfRuns(runs: readonly Run[]): string {
  return runs.map((run) => (run.type === 'text' ? run.text : (run.text ?? run.url))).join('');
}

/** Runs without empty ones; adjacent runs with the same style are joined. */
export function joined(runs: readonly Run[]): Run[] {
  const whole: Run[] = [];
  for (const run of runs) {
    if (run.type === 'text' && run.text === '') continue;
    const last = whole.at(-1);
    if (run.type === 'text' && last?.type === 'text' && sameStyle(last.style, run.style))
      whole[whole.length - 1] = { ...last, text: last.text + run.text };
    else whole.push(run);
  }
  return whole;
}

function sameStyle(one: Style = {}, other: Style = {}): boolean {
  return (['bold', 'italic', 'strike', 'code'] as const).every((mark) => one[mark] === other[mark]);
}

/** Runs without spaces and line breaks at both ends. */
export function trimmed(runs: readonly Run[]): Run[] {
  const whole = joined(runs);
  for (const at of [0, -1]) {
    for (let run = whole.at(at); run?.type === 'text'; run = whole.at(at)) {
      const text = at === 0 ? run.text.trimStart() : run.text.trimEnd();
      if (text !== '') {
        whole[at === 0 ? 0 : whole.length - 1] = { ...run, text };
        break;
      }
      if (at === 0) whole.shift();
      else whole.pop();
    }
  }
  return whole;
}
