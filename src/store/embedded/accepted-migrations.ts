/**
 * Migrations of other versions that the program accepts in the database of a home, although it does not know them: they only added, and
 * an upgrade has gone back to this version.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { parseJson } from '../../lib/json/json.ts';

const FILE = 'accepted-migrations.json';
const times = z.array(z.number()).max(1_000);

/** Their times. Never throws. */
export function acceptedMigrations(home: string): number[] {
  try {
    return times.safeParse(parseJson(readFileSync(path.join(home, FILE), 'utf8'))).data ?? [];
  } catch {
    // No upgrade ever went back.
    return [];
  }
}

/** Accepts further ones; `write` replaces a whole file. Throws what it throws. */
export function acceptMigrations(
  home: string,
  more: readonly number[],
  write: (file: string, text: string) => void,
): void {
  const all = new Set([...acceptedMigrations(home), ...more]);
  write(path.join(home, FILE), JSON.stringify([...all]));
}
