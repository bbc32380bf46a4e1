/** JSON schemas next to the files that people write: editors use them for completion and checks. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { toGatewayError } from '../protocol/errors.ts';
import type { Log } from '../protocol/log.ts';
import { pause } from '../lib/async/sleep.ts';
import { withoutLinks } from './descriptions.ts';

/** Existing files are compared this long after the start, in milliseconds: work that the start resumes goes first. */
const COMPARED_AFTER_MS = 5_000;

/**
 * The JSON Schema of what people write into a file with these fields, with descriptions without links to other pages.
 */
export function jsonSchema(schema: z.ZodObject): Readonly<Record<string, unknown>> {
  return withoutLinks(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }));
}

/** The same as a file. Editors that support it allow comments and trailing commas, too. */
function jsonSchemaOf(schema: z.ZodObject): string {
  const { $schema, ...fields } = jsonSchema(schema);
  return `${JSON.stringify({ $schema, allowComments: true, allowTrailingCommas: true, ...fields }, undefined, 2)}\n`;
}

/**
 * Writes schema files, by path: those that are missing at once, and after a while those that differ from what is there. Ends
 * early when the signal aborts. Never rejects: without them only editors lose something.
 */
export async function writeSchemaFiles(
  files: Readonly<Record<string, () => z.ZodObject>>,
  log: Log,
  signal: AbortSignal,
  afterMs = COMPARED_AFTER_MS,
): Promise<void> {
  const { missing = [], existing = [] } = Object.groupBy(Object.entries(files), ([file]) =>
    existsSync(file) ? 'existing' : 'missing',
  );
  for (const [file, schema] of missing) writeSchemaFile(file, schema(), log);
  await pause(afterMs, signal);
  if (signal.aborted) return;
  for (const [file, schema] of existing) writeSchemaFile(file, schema(), log);
}

function writeSchemaFile(file: string, schema: z.ZodObject, log: Log): void {
  try {
    const text = jsonSchemaOf(schema);
    if (contentOf(file) !== text) writeFileSync(file, text, { mode: 0o600 });
  } catch (error) {
    log.warn({ err: toGatewayError(error), file }, 'schema_file_not_written');
  }
}

function contentOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // It does not exist yet, or writing it will report why it cannot be used.
    return undefined;
  }
}
