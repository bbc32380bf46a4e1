/** A setup that does not work, and what is said of it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { doctorCommand } from '../../src/commands/doctor.ts';
import { parley } from '../child.ts';

/** A home that only its owner can read, with a `config.json` of this content. */
export function homeWith(config?: string): string {
  const home = mkdtempSync(path.join(tmpdir(), 'parley-wrong-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  if (config !== undefined) writeFileSync(path.join(home, 'config.json'), config, { mode: 0o600 });
  return home;
}

/** Everything that a command prints. */
export async function outputOf(args: string[], environment: Record<string, string>): Promise<string> {
  const { stdout, stderr } = await parley(args, environment);
  return stdout + stderr;
}

/** What doctor says of an environment. */
export async function diagnosis(environment: Record<string, string>): Promise<string> {
  const { text } = await doctorCommand([], environment, { colours: false });
  return text;
}
