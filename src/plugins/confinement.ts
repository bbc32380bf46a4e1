/** How plug-ins are shut in on this machine. */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Confinement, type ConfinedProgram, findConfinement } from '../lib/confinement.ts';

/** The program that runs a plug-in. */
export const PROGRAM = fileURLToPath(new URL('process/plugin-process.ts', import.meta.url));

let usual: Promise<Confinement> | undefined;

/** The closest way that works here; found out once. Never rejects. */
export function pluginConfinement(): Promise<Confinement> {
  const probe: ConfinedProgram = {
    program: ['--input-type=module', '--eval', ''],
    flags: [],
    reads: [path.dirname(PROGRAM)],
    folder: '/',
  };
  usual ??= findConfinement(probe);
  return usual;
}
