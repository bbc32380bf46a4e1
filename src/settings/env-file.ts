/** The file `.env`: variables written by people, changed without touching the comments around them. */
import { GatewayError } from '../protocol/errors.ts';

const HEAD = `# Variables of Parley, read at the start and by every command of parley. What the environment itself sets comes first.
# Keep this file secret: it holds tokens. docs/configuration.md lists all variables.
`;

/**
 * The text with these variables set, undefined ones removed; other lines stay unchanged. Throws `GatewayError` for a
 * value that no line can hold.
 */
export function withVariables(
  text: string | undefined,
  values: Readonly<Record<string, string | undefined>>,
): string {
  let after = text ?? HEAD;
  for (const [name, value] of Object.entries(values)) {
    const line = new RegExp(`^[ \\t]*(?:export[ \\t]+)?${name}[ \\t]*=.*(?:\\r?\\n|$)`, 'm');
    if (value === undefined) after = after.replace(line, '');
    else if (line.test(after)) after = after.replace(line, () => lineOf(name, value));
    else after = `${after}${after === '' || after.endsWith('\n') ? '' : '\n'}${lineOf(name, value)}`;
  }
  return after;
}

function lineOf(name: string, value: string): string {
  if (/^[\w.:/@%+,=~-]+$/.test(value)) return `${name}=${value}\n`;
  const quote = ["'", '"', '`'].find((mark) => !value.includes(mark));
  if (quote === undefined || /[\r\n]/.test(value))
    throw new GatewayError(
      'usage',
      `The value of ${name} cannot be in a file .env: set it in the environment.`,
    );
  return `${name}=${quote}${value}${quote}\n`;
}
