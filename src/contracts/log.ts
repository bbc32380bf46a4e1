/** The log: one pino root whose only sink takes every secret out before a byte is written. */
import { Writable } from 'node:stream';
import pino from 'pino';

export type Log = pino.Logger;

/** Shapes of secrets that no configuration announced: Telegram and Discord bot tokens, bearer headers, URLs with passwords. */
const SECRET_SHAPES: [RegExp, string][] = [
  [/(?<!\d)\d{6,12}:[A-Za-z0-9_-]{30,}/g, '[telegram-token]'],
  [/\b[\w-]{23,28}\.[\w-]{6,7}\.[\w-]{27,}\b/g, '[discord-token]'],
  [/\b(Bearer|Bot) [A-Za-z0-9._~+/=-]{12,}/g, '$1 [token]'],
  [/(\b[a-z][a-z0-9+.-]*:\/\/[^\s:@/]*:)[^\s@/]+@/gi, '$1[password]@'],
];

/** Makes a function that replaces the given secrets, and everything shaped like one, in a text. */
export function redactor(secrets: readonly string[]): (text: string) => string {
  const known = secrets.filter((secret) => secret.length >= 6).toSorted((a, b) => b.length - a.length);
  return (text) => {
    let clean = text;
    for (const secret of known) clean = clean.replaceAll(secret, '[secret]');
    for (const [shape, mark] of SECRET_SHAPES) clean = clean.replace(shape, mark);
    return clean;
  };
}

/** Makes the root log. `write` receives whole lines, already redacted; default is standard output. */
export function createLog(options: {
  level: string;
  redact: (text: string) => string;
  write?: (line: string) => void;
}): Log {
  const write = options.write ?? ((line: string) => void process.stdout.write(line));
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      write(options.redact(chunk.toString('utf8')));
      done();
    },
  });
  return pino({ level: options.level, base: undefined, serializers: { err: errorFields } }, sink);
}

/** An error as log fields: names, codes, messages and stacks down the causes; never its other properties (they hold URLs and headers). */
function errorFields(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return String(error);
  const { name, message, stack } = error;
  const code = 'code' in error ? String(error.code) : undefined;
  // grammY hangs the network's error on `error`, everybody else on `cause`.
  const inner = error.cause ?? ('error' in error ? error.error : undefined);
  const cause = inner === undefined || depth >= 4 ? undefined : errorFields(inner, depth + 1);
  return { name, code, message, stack: depth === 0 ? stack : undefined, cause };
}
