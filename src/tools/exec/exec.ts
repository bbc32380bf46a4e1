/**
 * The tool `exec`: runs a program in the session's workspace, inside a sandbox (B-20). Off unless `tools.exec` is set.
 */
import { z } from 'zod';
import { ToolError } from '../../contracts/errors.ts';
import { defineTool, type Tool } from '../../contracts/tools/tool.ts';
import { wordsOfRun, wordsOfScript } from './exec-files.ts';
import { riskOfRun, warningOfRun } from './exec-risk.ts';
import type { Sandbox } from './sandbox.ts';

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
  .refine((given) => !given.includes('\0'), 'holds no NUL character');

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

const SWITCHED_OFF = 'exec is switched off: "tools": {"exec": true} in config.json switches it on.';

/** `sandboxNow` returns undefined while it is off: then the tool only says how to switch it on. */
export function createExec(sandboxNow: () => Sandbox | undefined): Tool {
  return defineTool({
    name: 'exec',
    description:
      'Run a program in the workspace (/work) and read what it prints. There is no network and no standard input; only /work stays.',
    parameters,
    effect: 'unsafe',
    risk: riskOfRun,
    reach: () => 'outside',
    warning: warningOfRun,
    results: 'local',
    files: wordsOfRun,
    filesIn: wordsOfScript,
    async execute(args: z.infer<typeof parameters>, ctx) {
      const sandbox = sandboxNow();
      if (sandbox === undefined) {
        throw new ToolError('unavailable', SWITCHED_OFF);
      }
      const { output, ending, ok } = await sandbox.run({
        session: ctx.sessionKey,
        workspace: ctx.workspace,
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
