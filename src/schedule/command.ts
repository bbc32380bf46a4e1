/** The command `/schedule`: lists, adds and removes the schedules of a chat. */
import type { Command, CommandCall } from '../contracts/command.ts';
import { GatewayError } from '../contracts/errors.ts';
import { newId } from '../lib/ids.ts';
import type { Schedules } from '../contracts/schedules.ts';
import { parseWhen } from './when.ts';

const USAGE = [
  '`/schedule` lists the schedules of this chat',
  '`/schedule add "0 9 * * 1-5" Tell me the news` adds a schedule with a cron line (minute, hour, day, month, weekday) and, if you like, a time zone: `"0 9 * * * Europe/Berlin"`',
  '`/schedule add "every 30m" …`, `"every 2 hours"`, `"in 10 minutes"` or `"at 2026-12-01 09:00"` also works',
  '`/schedule remove 2` removes the second one of the list',
].join('\n');

/** Quotation marks that keyboards insert. */
const QUOTED = /^["'`“”„«‘’]([^"'`“”„«»‘’]+)["'`“”»‘’]\s*([\s\S]*)$/;
/** `every 30m`, `in 2 hours` and `at …` need no quotes. */
const PLAIN =
  /^((?:every|in)\s+(?:\d{1,6}\s*)?(?:m|mins?|minutes?|h|hrs?|hours?|d|days?)|at\s+\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}\S*)(?:\s+([\s\S]*))?$/i;

/** Makes the command. */
export function createScheduleCommand(schedules: Schedules): Command {
  return {
    name: 'schedule',
    description: 'List, add or remove schedules of this chat',
    argument: {
      name: 'what',
      description: 'add "<when>" <task>, or remove <number>; nothing shows the list',
      required: false,
    },
    run: async (call) => {
      const [, action = '', rest = ''] = /^(\S*)\s*([\s\S]*)$/.exec(call.args) ?? [];
      switch (action.toLowerCase()) {
        case '':
        case 'list':
          return await list(schedules, call);
        case 'add':
          return await add(schedules, call, rest.trim());
        case 'remove':
          return await remove(schedules, call, rest.trim());
        default:
          return USAGE;
      }
    },
  };
}

async function list(schedules: Schedules, { session }: CommandCall): Promise<string> {
  const rows = await schedules.list({ session });
  const now = `It is ${schedules.moment(new Date())} now.`;
  if (rows.length === 0) return `There are no schedules here. ${now}\n\n${USAGE}`;
  return [...rows.map((row, index) => `${index + 1}. ${schedules.describe(row)}`), '', now].join('\n');
}

async function add(schedules: Schedules, call: CommandCall, rest: string): Promise<string> {
  const [, when, task = ''] = QUOTED.exec(rest) ?? PLAIN.exec(rest) ?? [];
  if (when === undefined) return USAGE;
  const { session, address, userId: creatorId } = call;
  const made = await schedules.add({
    id: newId(),
    session,
    address,
    creatorId,
    task,
    when: parseWhen(when),
  });
  return `Scheduled: ${schedules.describe(made)}`;
}

async function remove(schedules: Schedules, call: CommandCall, which: string): Promise<string> {
  const rows = await schedules.list({ session: call.session });
  const meant = /^\d{1,4}$/.test(which) ? rows[Number(which) - 1] : rows.find(({ id }) => id === which);
  if (meant === undefined) {
    throw new GatewayError('unknown_schedule', 'There is no such schedule here; /schedule lists them.');
  }
  if (!call.owner && meant.creatorId !== call.userId && meant.place === 'group') throw notYours();
  await schedules.remove(meant.id);
  return `Removed: ${schedules.describe(meant)}`;
}

function notYours(): GatewayError {
  return new GatewayError(
    'forbidden',
    'Someone else made this schedule; only they or an owner can remove it.',
  );
}
