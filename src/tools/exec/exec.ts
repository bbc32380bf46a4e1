/** The tool `exec`: runs a program in the session's workspace, in a sandbox (B-20). Off unless `tools.exec` is set. */
import { z } from 'zod';
import { ToolError } from '../../protocol/errors.ts';
import { defineTool, type Tool } from '../../protocol/agent/tool.ts';
import type { ToolRisk } from '../../protocol/agent/risk.ts';
import type { PlainKey, TextRef } from '../../protocol/texts/say.ts';

import type { Sandbox } from './sandbox.ts';

/** A program to run, as the tool `exec` accepts it. */
interface Run {
  command?: string | undefined;
  argv?: string[] | undefined;
}

/** Programs with no option that writes, deletes or starts anything. */
const LOOKING = new Set(
  'ls cat head tail wc pwd echo stat du df uname grep diff cmp md5sum sha256sum basename dirname true'.split(
    ' ',
  ),
);

/** A line that every shell reads as plain words: no quoting, expansion, redirection, pattern or second command. */
const PLAIN_LINE = /^[A-Za-z0-9_.,:@%+/-]+( +[A-Za-z0-9_.,:@%+/-]+)*$/;

/** How much of a command is searched for a warning, in UTF-16 units. */
const MAX_READ_CHARS = 4_000;

/** What people should notice in a command before they allow it; the first match is reported. `follower` must follow it. */
const NOTABLE: readonly [pattern: RegExp, warning: PlainKey, follower?: RegExp][] = [
  [/\b(curl|wget|nc|ncat|ssh|scp|rsync|ftp)\b/, 'risk.network_script', /\|\s*(ba|z|da)?sh\b/],
  [/\b(rm|rmdir|unlink|shred|truncate)\b|\bgit\s+clean\b/, 'risk.deletes'],
  [/\bfind\b/, 'risk.deletes', /-delete\b/],
  [/\b(dd|mkfs(\.\w+)?|fdisk|parted|wipefs)\b/, 'risk.disks'],
  [/\b(curl|wget|nc|ncat|ssh|scp|rsync|ftp|telnet)\b/, 'risk.network'],
  [/\b(sudo|su|doas|chmod|chown|setcap|mount)\b/, 'risk.rights'],
  [/\b(kill|pkill|killall|shutdown|reboot|halt)\b/, 'risk.ends_programs'],
  [/:\(\)\s*\{|\bfork\b/, 'risk.endless'],
];

/** The workspace inside the sandbox. */
const INSIDE = '/work/';

/** What separates words in a command line, an option and its value, or a short script. */
const BETWEEN_WORDS = /[\s"'`;|&<>(){}[\]=,:$\\]+/;

/** What a script imports by a name that may lack its extension. */
const MODULE = /\b(?:import|from|require|source)\b[\s("']*([\w./-]+)/g;

const MODULE_ENDINGS = ['.py', '/__init__.py', '.js', '.mjs', '.cjs', '/index.js', '.sh'];

/** Words in quotation marks, which may contain spaces. */
const QUOTED = /"[^"]*"|'[^']*'/g;

/** Seconds a program gets unless the call asks for a different limit. */
const DEFAULT_SECONDS = 20;
/** Most seconds a call may ask for: less than the gateway allows a tool, so that the outcome is reported. */
const MAX_SECONDS = 50;
/** Longest command, and longest single argument, in UTF-16 units. */
const MAX_COMMAND_CHARS = 32_000;
const MAX_ARGUMENTS = 200;

const text = z
  .string()
  .min(1)
  .max(MAX_COMMAND_CHARS)
  .refine((line) => !line.includes('\0'), 'must not contain NUL characters');

const parameters = z
  .strictObject({
    command: text.optional().describe('A line for sh.'),
    argv: z
      .array(text)
      .min(1)
      .max(MAX_ARGUMENTS)
      .optional()
      .describe('Or a program and its arguments, without a shell.'),
    timeout_seconds: z.int().min(1).max(MAX_SECONDS).default(DEFAULT_SECONDS),
  })
  .refine(
    (args) => (args.command === undefined) !== (args.argv === undefined),
    'give either "command" or "argv"',
  );

const SWITCHED_OFF = 'exec is off: "tools": {"exec": true} in config.json turns it on.';

/** `sandboxNow` returns undefined while it is off: then the tool only says how to switch it on. */
export function createExec(sandboxNow: () => Sandbox | undefined): Tool {
  return defineTool({
    name: 'exec',
    description:
      'Run a program in the workspace (/work) and read what it prints. There is no network and no standard input; only /work stays. Skills are in /skills.',
    parameters,
    effect: 'unsafe',
    risk: riskOfRun,
    reach: () => 'outside',
    warning: warningOfRun,
    results: 'local',
    files: wordsOfRun,
    filesIn: wordsOfScript,
    changes: (run) => (looksOnly(run) ? [] : ['files']),
    uses: (run) => (looksOnly(run) ? 'reads' : 'anything'),
    async execute(args: z.infer<typeof parameters>, ctx) {
      const sandbox = sandboxNow();
      if (sandbox === undefined) throw new ToolError('unavailable', SWITCHED_OFF);
      const { output, ending, ok } = await sandbox.run({
        session: ctx.sessionKey,
        workspace: ctx.workspace,
        skills: ctx.skills,
        argv: args.argv ?? ['/bin/sh', '-c', args.command ?? ''],
        timeoutMs: args.timeout_seconds * 1_000,
        signal: ctx.signal,
      });
      return {
        content: `${output}${output === '' || output.endsWith('\n') ? '' : '\n'}(${ending})`,
        isError: !ok,
      };
    },
  });
}

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

/** `caution` for a program that only reads, else `dangerous`. Never throws. */
function riskOfRun(run: Run): ToolRisk {
  return looksOnly(run) ? 'caution' : 'dangerous';
}

/** True for plain words that start one of the programs that only read what they are given. */
function looksOnly({ argv, command = '' }: Run): boolean {
  const [program = ''] = argv ?? (PLAIN_LINE.test(command) ? command.split(' ') : []);
  return LOOKING.has(program);
}

/** What makes a run worth a second look, as the end of "it …". */
function warningOfRun({ command, argv }: Run): TextRef {
  const line = (command ?? argv?.join(' ') ?? '').slice(0, MAX_READ_CHARS);
  const match = NOTABLE.find(([pattern, , follower]) => {
    const at = line.search(pattern);
    return at >= 0 && (follower === undefined || follower.test(line.slice(at)));
  });
  return { key: match?.[1] ?? 'risk.program' };
}
