/** The first `config.json`: every setting with its default, as comments, so that a reader finds what there is to change. */
import { linkSync, rmSync } from 'node:fs';
import path from 'node:path';
import { channels } from '../../../channels/index.ts';
import { fileSchemaFor } from '../../config-schema.ts';
import type { ChannelManifest } from '../../protocol/channel.ts';
import { errorCode, toGatewayError } from '../../protocol/errors.ts';
import type { Log } from '../../protocol/log.ts';
import { PARLEY } from '../../protocol/texts/parley.ts';
import { newId } from '../../lib/ids.ts';
import { writeWhole } from '../../settings/index.ts';

/** Longest line of a section that is written as one. */
const MAX_LINE = 96;

const HEAD = `// Settings of Parley; docs/configuration.md explains all. Tokens and addresses are in the file .env next to this one.
// Most changes count while the gateway runs: "${PARLEY} config validate" checks them first.
{
  "$schema": "./config.schema.json",

  // What follows are the defaults, as comments: uncomment a line (remove the slashes) to set it.
`;

/** The text: it means the same as an empty file. */
export function firstConfig(manifests: readonly ChannelManifest[] = channels): string {
  const sections = Object.entries(fileSchemaFor(manifests).parse({})).flatMap(linesOf);
  return `${HEAD}${sections.map((line) => `  // ${line}\n`).join('')}}\n`;
}

/** One line for a short section, else one for each of its fields. */
function linesOf([name, value]: [string, unknown]): string[] {
  if (value === undefined) return [];
  const line = `${JSON.stringify(name)}: ${spaced(value)},`;
  if (line.length <= MAX_LINE || typeof value !== 'object' || value === null) return [line];
  const fields = Object.entries(value).flatMap(linesOf);
  return [`${JSON.stringify(name)}: {`, ...fields.map((field) => `  ${field}`), '},'];
}

function spaced(value: unknown): string {
  return JSON.stringify(value, undefined, 1)
    .replaceAll(/\n\s*/g, ' ')
    .replaceAll(/([{[]) ([}\]])/g, '$1$2');
}

/**
 * Writes `config.json` at the first start of a home, never over an existing one. Never throws: the gateway runs without
 * it, so a failure is only logged.
 */
export function writeFirstConfig(file: string, log: Log): void {
  const whole = path.join(path.dirname(file), `.config.${newId()}.new`);
  try {
    writeWhole(whole, firstConfig());
    try {
      // Unlike a rename, this fails if the file exists.
      linkSync(whole, file);
    } finally {
      rmSync(whole);
    }
    log.info({ file }, 'config_written');
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return;
    log.warn({ err: toGatewayError(error), file }, 'config_not_written');
  }
}
