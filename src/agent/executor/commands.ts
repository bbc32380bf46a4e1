/** A step's command in words: for prompts, events and people. */
import { clipMiddle } from '../../lib/text.ts';
import type { StepCommand } from './edits.ts';

/** Longest command in words, in UTF-16 units. */
const MAX_COMMAND_CHARS = 400;

/** `read_file {"path":"a.txt"}`, `agent researcher`, `self`. */
export function describeCommand({ executor, args }: StepCommand): string {
  const given = args === undefined ? '' : ` ${JSON.stringify(args)}`;
  return clipMiddle(`${nameOf(executor)}${given}`, MAX_COMMAND_CHARS);
}

function nameOf(executor: StepCommand['executor']): string {
  switch (executor.kind) {
    case 'tool':
      return executor.tool;
    case 'agent':
      return `agent ${executor.profileId}`;
    case 'self':
      return 'self';
    default:
      return executor satisfies never;
  }
}
