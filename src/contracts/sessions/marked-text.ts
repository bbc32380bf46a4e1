/** Text of others as a journal keeps it: between two lines that are marks for the model. */

/** A line that is a mark. */
const MARK = /^\[[0-9a-f]{16}: [^\n]{1,600}\]$/;

/** The text without the lines that are marks. */
export function withoutMarks(text: string): string {
  if (!text.startsWith('[')) return text;
  return text
    .split('\n')
    .filter((line) => !MARK.test(line))
    .join('\n');
}
