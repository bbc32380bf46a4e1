/** The root log: one pino logger whose only sink removes every secret before a byte is written. */
import { Writable } from 'node:stream';
import pino from 'pino';
import type { Log, SecretShape } from '../contracts/log.ts';

/** Secrets of no particular channel: bearer headers, and URLs with passwords. */
const GENERAL_SHAPES: readonly SecretShape[] = [
  { pattern: /\b(Bearer) [A-Za-z0-9._~+/=-]{12,}/, replacement: '$1 [token]' },
  { pattern: /(\b[a-z][a-z0-9+.-]*:\/\/[^\s:@/]*:)[^\s@/]+@/i, replacement: '$1[password]@' },
];

/** Shorter values are not redacted: they occur inside ordinary words. */
const MIN_SECRET_LENGTH = 6;

/**
 * Makes a function that replaces in a text the given secrets, everything of the given shapes, bearer headers and the
 * passwords of URLs. Neither throws.
 */
export function redactor(known: {
  secrets: readonly string[];
  shapes: readonly SecretShape[];
}): (text: string) => string {
  // Longest first: a secret may be part of another one.
  const secrets = known.secrets
    .filter((secret) => secret.length >= MIN_SECRET_LENGTH)
    .toSorted((a, b) => b.length - a.length);
  const shapes = [...known.shapes, ...GENERAL_SHAPES].map(({ pattern, replacement }) => ({
    everywhere: new RegExp(pattern.source, `${pattern.flags.replaceAll(/[gy]/g, '')}g`),
    replacement,
  }));
  return (text) => {
    let clean = text;
    for (const secret of secrets) clean = clean.replaceAll(secret, '[secret]');
    for (const { everywhere, replacement } of shapes) clean = clean.replace(everywhere, replacement);
    return clean;
  };
}

/** Makes the root log. `write` receives whole lines, already redacted; the default writes to standard output. */
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
  // Some libraries keep the network's error in `error`, all others in `cause`.
  const inner = error.cause ?? ('error' in error ? error.error : undefined);
  const cause = inner === undefined || depth >= 4 ? undefined : errorFields(inner, depth + 1);
  return { name, code, message, stack: depth === 0 ? stack : undefined, cause };
}
