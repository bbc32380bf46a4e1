/** The root log: one pino logger whose only sink removes every secret before a byte is written. */
import { Writable } from 'node:stream';
import pino, { type LoggerOptions } from 'pino';
import { GatewayError } from '../protocol/errors.ts';
import type { Log, SecretShape } from '../protocol/log.ts';
import { escapeInJson } from '../lib/text.ts';

/** Secrets that belong to no particular channel: bearer headers, and URLs with passwords. */
const GENERAL_SHAPES: readonly SecretShape[] = [
  { pattern: /\b(Bearer) [A-Za-z0-9._~+/=-]{12,}/, replacement: '$1 [token]' },
  { pattern: /(:\/\/[^\s:@/]*:)[^\s@/]+@/, replacement: '$1[password]@' },
];

/** Longest value in a line, in UTF-16 units; most entries of a list or object, and most nesting levels. */
export const MAX_VALUE_CHARS = 4_096;
const MAX_ENTRIES = 50;
const MAX_DEPTH = 5;
/** Read past the cut of a value: a secret that begins before the cut is removed whole. */
const MAX_SECRET_CHARS = 1_024;

/** Shorter values are not redacted: they occur inside ordinary words. */
const MIN_SECRET_LENGTH = 6;

/** Most secrets that are redacted; when edited settings add more, the oldest are forgotten. */
export const MAX_SECRETS = 1_000;

/** Replaces secrets in a text. Never throws. */
export interface Redactor {
  (text: string): string;
  /** Also redacts these from now on. */
  learn: (secrets: readonly string[]) => void;
}

/** Replaces the given secrets and shapes, bearer headers and passwords in URLs. Never throws. */
export function redactor(options: { secrets: readonly string[]; shapes: readonly SecretShape[] }): Redactor {
  let secrets: readonly string[] = [];
  let inOrder: readonly string[] = [];
  const learn = (more: readonly string[]): void => {
    const long = more.filter((secret) => secret.length >= MIN_SECRET_LENGTH);
    inOrder = [...new Set([...inOrder.filter((secret) => !long.includes(secret)), ...long])].slice(
      -MAX_SECRETS,
    );
    // Longest first: a secret may be part of another one.
    secrets = [...new Set(inOrder.flatMap(spellingsOf))].toSorted((a, b) => b.length - a.length);
  };
  learn(options.secrets);
  const shapes = [...options.shapes, ...GENERAL_SHAPES].map(({ pattern, replacement }) => ({
    everywhere: new RegExp(pattern.source, `${pattern.flags.replaceAll(/[gy]/g, '')}g`),
    replacement,
  }));
  const redact = (text: string): string => {
    let clean = text;
    for (const secret of secrets) clean = clean.replaceAll(secret, '[secret]');
    for (const { everywhere, replacement } of shapes) clean = clean.replace(everywhere, replacement);
    return clean;
  };
  return Object.assign(redact, { learn });
}

/**
 * How a secret may appear: as it is, without the id before its colon (bot tokens), escaped as in JSON, a URL or a query,
 * in hexadecimal, and in Base64 at any offset (`Authorization: Basic`).
 */
function spellingsOf(secret: string): string[] {
  const afterId = /^\d+:(.+)$/s.exec(secret)?.[1];
  const parts = afterId === undefined || afterId.length < MIN_SECRET_LENGTH ? [secret] : [secret, afterId];
  const bytes = Buffer.from(secret);
  const percent = encodeURIComponent(secret.toWellFormed());
  return [
    ...parts,
    ...parts.map((part) => JSON.stringify(part).slice(1, -1)),
    percent,
    percent.replaceAll(/%[\dA-F]{2}/g, (code) => code.toLowerCase()),
    new URLSearchParams([['', secret]]).toString().slice(1),
    bytes.toString('hex'),
    ...[0, 1, 2].flatMap((offset) => base64At(bytes, offset)),
  ].filter((spelling) => spelling.length >= MIN_SECRET_LENGTH);
}

/** The Base64 digits that the bytes alone decide when they begin `offset` bytes after a multiple of three. */
function base64At(bytes: Buffer, offset: number): string[] {
  const whole = Buffer.concat([Buffer.alloc(offset), bytes]);
  const from = Math.ceil((offset * 8) / 6);
  const to = Math.floor((whole.length * 8) / 6);
  const digits = whole.toString('base64').slice(from, to);
  return [digits, digits.replaceAll('+', '-').replaceAll('/', '_')];
}

/**
 * The root log. `write` receives whole redacted lines, safe to show on a terminal, by default for standard output. Long values are cut first, so
 * that a line takes bounded time.
 */
export function createLog(options: {
  level: string;
  redact: (text: string) => string;
  write?: (line: string) => void;
}): Log {
  const write = options.write ?? ((line: string) => void process.stdout.write(line));
  const sink = new Writable({
    write(chunk: Buffer, _encoding, callback) {
      write(escapeInJson(options.redact(chunk.toString('utf8'))));
      callback();
    },
  });
  const limit = valueCutter(options.redact);
  const settings: LoggerOptions = {
    level: options.level,
    base: null,
    serializers: { err: (error: unknown) => limit(errorFields(error)) },
    hooks: {
      logMethod([first, ...more], method) {
        Reflect.apply(method, this, [limit(first), ...more.map((value) => limit(value))]);
      },
    },
  };
  return pino(settings, sink);
}

type Cut = (value: unknown, depth?: number) => unknown;

/** Makes the function that cuts long texts, lists and objects. Errors are left to their serializer. */
function valueCutter(redact: (text: string) => string): Cut {
  const limit: Cut = (value, depth = 0) => {
    if (typeof value === 'string') return cutText(value, redact);
    if (typeof value !== 'object' || value === null || value instanceof Error) return value;
    if (depth >= MAX_DEPTH) return '[too deep]';
    if (Array.isArray(value)) return value.slice(0, MAX_ENTRIES).map((one: unknown) => limit(one, depth + 1));
    // Only plain objects are traversed: dates and the like have their own text form.
    const isPlain = Object.getPrototypeOf(value) === Object.prototype;
    return isPlain ? cutFields(value, (field) => limit(field, depth + 1)) : value;
  };
  return limit;
}

function cutFields(fields: object, limit: Cut): Record<string, unknown> {
  const entries = Object.entries(fields).slice(0, MAX_ENTRIES);
  return Object.fromEntries(entries.map(([name, value]): [string, unknown] => [name, limit(value)]));
}

function cutText(text: string, redact: (text: string) => string): string {
  if (text.length <= MAX_VALUE_CHARS) return text;
  const beginning = redact(text.slice(0, MAX_VALUE_CHARS + MAX_SECRET_CHARS)).slice(0, MAX_VALUE_CHARS);
  return `${beginning.toWellFormed()}… (${text.length} characters)`;
}

/**
 * Names, codes and messages along the causes; no other properties, which contain URLs and headers. The stack only of an error
 * that nobody expected: an outage of an hour is not a page of JSON for each try.
 */
function errorFields(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return String(error);
  const { name, message, stack } = error;
  const code = 'code' in error ? String(error.code) : undefined;
  // Some libraries keep the network's error in `error`, all others in `cause`.
  const inner = error.cause ?? ('error' in error ? error.error : undefined);
  const cause = inner === undefined || depth >= 4 ? undefined : errorFields(inner, depth + 1);
  const isExpected = error instanceof GatewayError && error.code !== 'internal';
  return { name, code, message, stack: depth > 0 || isExpected ? undefined : stack, cause };
}
