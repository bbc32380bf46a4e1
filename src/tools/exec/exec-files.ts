/** Which files a run may name: the words of its command line as a shell or a program might read them. */
import type { Run } from './exec-risk.ts';

/** The workspace inside the sandbox. */
const INSIDE = '/work/';
/** What separates words in a command line, an option and its value, or a short script. */
const BETWEEN_WORDS = /[\s"'`;|&<>(){}[\]=,:$\\]+/;
/** What a script imports by a name that may lack its extension. */
const MODULE = /\b(?:import|from|require|source)\b[\s("']*([\w./-]+)/g;
const MODULE_ENDINGS = ['.py', '/__init__.py', '.js', '.mjs', '.cjs', '/index.js', '.sh'];
/** Words in quotation marks, which may contain spaces. */
const QUOTED = /"[^"]*"|'[^']*'/g;

/** Every word that may be a path below the workspace, as a path relative to it; most are not paths. Never throws. */
export function wordsOfRun({ command, argv = [] }: Run): string[] {
  const lines = command === undefined ? argv : [command];
  const quoted = lines.flatMap((line) => line.match(QUOTED) ?? []).map((word) => word.slice(1, -1));
  const words = lines.flatMap((line) => line.split(BETWEEN_WORDS));
  return [...argv, ...quoted, ...words]
    .filter((word) => word !== '')
    .map((word) => (word.startsWith(INSIDE) ? word.slice(INSIDE.length) : word));
}

/** Every word of a file's text that may be a path below the workspace, if the file is run. Never throws. */
export function wordsOfScript(text: string): string[] {
  const modules = [...text.matchAll(MODULE)].flatMap(([, name = '']) => [name, name.replaceAll('.', '/')]);
  const files = modules.flatMap((name) => MODULE_ENDINGS.map((ending) => name + ending));
  return [...wordsOfRun({ command: text }), ...files];
}
