/** Text of others as a journal keeps it: between two marker lines for the model. */

/** A marker line. */
const MARK = /^\[[0-9a-f]{16}: [^\n]{1,600}\]$/;

/** The text without marker lines. */
export function withoutMarks(text: string): string {
  if (!text.startsWith('[')) return text;
  return text
    .split('\n')
    .filter((line) => !MARK.test(line))
    .join('\n');
}
