/** Options that a command does not have, as the command line reports them. */
import { expect, it } from 'vitest';
import { COMMAND_FORMS } from '../../src/commands/command-forms.ts';
import { notACommand, refuseUnknownOptions, unknownCommand } from '../../src/commands/command-list.ts';
import { PARLEY } from '../../src/protocol/texts/parley.ts';

const said = (command: string, ...args: string[]): string => {
  try {
    refuseUnknownOptions(command, args);
    return '';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};

it('names the option, the command, and the option that was meant', () => {
  expect(said('status', '--jsn')).toBe(
    `${PARLEY} status has no option --jsn. Did you mean --json? See: ${PARLEY} status --help`,
  );
  expect(said('logs', '--turns=1')).toContain('has no option --turns. Did you mean --turn?');
});

it('lists the options of a command when none is close, and reports when there are none', () => {
  expect(said('doctor', '--everything')).toContain('has no option --everything. It has --fix, --json. See:');
  expect(said('mcp', '--everything')).toContain('It takes no options.');
  expect(notACommand('--foo').message).toBe(
    `There is no option --foo without a command. See: ${PARLEY} --help`,
  );
});

it('accepts every listed option, values that start with a minus, and ids below zero', () => {
  for (const { usage, options = [] } of COMMAND_FORMS)
    for (const [option] of options) {
      const [name = ''] = option.match(/--[a-z-]+/) ?? [];
      expect(said(usage.split(' ')[0] ?? '', name, '-1001')).toBe('');
    }
  expect(said('schedule', 'add', 'telegram:1', 'every day', 'task', '--as', '-x')).toBe('');
  expect(said('pair', 'group', 'telegram', '-1001')).toBe('');
  expect(said('sessions', 'rename', 'http:x', '--', '--title')).toBe('');
});

it.each([
  ['strat', 'start'],
  ['docter', 'doctor'],
  ['sesions', 'sessions'],
])('names the command that was meant by %s', (typed, meant) => {
  expect(unknownCommand(typed).message).toBe(
    `There is no command "${typed}". Did you mean ${meant}? See: ${PARLEY} --help`,
  );
});

it('names no command that is only as short as what was typed', () => {
  expect(unknownCommand('xyz').message).toBe(`There is no command "xyz". See: ${PARLEY} --help`);
});
