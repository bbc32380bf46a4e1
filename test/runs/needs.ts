/**
 * What a test needs and a machine may lack: `it('…', needs('bubblewrap'), …)` is skipped there, and the end of the run
 * says in one line how many tests were skipped and what would let them run (skip-summary.ts).
 */
import { existsSync } from 'node:fs';
import path from 'node:path';

declare module 'vitest' {
  interface TaskMeta {
    /** What would let the skipped tests run, as an instruction. */
    missing?: string;
  }
}

/** Whether each need is met here, and the instruction that meets it. */
const NEEDS = {
  bubblewrap: [() => programPath('bwrap'), 'install bubblewrap'],
  Chromium: [chromiumPath, 'install Chromium or name it in CHROMIUM'],
  'nats-server': [() => programPath('nats-server'), 'install nats-server'],
  pgbouncer: [() => programPath('pgbouncer'), 'install pgbouncer'],
  openssl: [() => programPath('openssl'), 'install openssl'],
  python3: [() => programPath('python3'), 'install python3'],
  script: [() => programPath('script'), 'install the program "script"'],
} satisfies Record<string, readonly [() => string | undefined, string]>;

export type Need = keyof typeof NEEDS;

/** Options of a test, or of a group of tests, that needs all of these. Never throws. */
export function needs(...required: readonly Need[]): SkipOptions {
  const missing = required.find((need) => NEEDS[need][0]() === undefined);
  return missing === undefined ? {} : skipUnless(false, NEEDS[missing][1]);
}

/** Options of a test that is skipped unless `isMet`; `instruction` is what would let it run. */
export function skipUnless(isMet: boolean, instruction: string): SkipOptions {
  return isMet ? {} : { skip: true, meta: { missing: instruction } };
}

interface SkipOptions {
  skip?: true;
  meta?: { missing: string };
}

/**
 * The browser's program: `CHROMIUM`, else the one in PATH; the headless build takes half the processor time. Undefined
 * if there is none; then it throws if `PARLEY_REQUIRE_BROWSER` is 1.
 */
export function chromiumPath(): string | undefined {
  const { CHROMIUM: named, PARLEY_REQUIRE_BROWSER: isRequired } = process.env;
  const place =
    named === undefined
      ? (programPath('chromium-headless-shell') ?? programPath('chromium'))
      : [named].find((file) => existsSync(file));
  if (place === undefined && isRequired === '1')
    throw new Error(
      'PARLEY_REQUIRE_BROWSER=1, but there is no Chromium: install one, or name it in CHROMIUM.',
    );
  return place;
}

/** The program of that name in PATH. */
export function programPath(name: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(path.delimiter);
  return folders.map((folder) => path.join(folder, name)).find((place) => existsSync(place));
}
