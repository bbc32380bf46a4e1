/** The command `/schedule`: lists, adds and removes the schedules of a chat. */
import { namesLike } from '../lib/text.ts';
import type { Command, CommandCall } from '../protocol/command.ts';
import { GatewayError } from '../protocol/errors.ts';
import { newId } from '../lib/ids.ts';
import type { Schedules } from '../protocol/schedules.ts';
import { parseWhen } from './timing.ts';
import { type Say, textRef } from '../protocol/texts/say.ts';

function usage(say: Say): string {
  return [
    say('schedule.how_list'),
    say('schedule.how_cron'),
    say('schedule.how_every'),
    say('schedule.how_remove'),
  ].join('\n');
}

/** Quotation marks that keyboards insert. */
const QUOTED = /^["'`“”„«‘’]([^"'`“”„«»‘’]+)["'`“”»‘’]\s*([\s\S]*)$/;
/** `every 30m`, `in 2 hours` and `at …` need no quotes. */
const PLAIN =
  /^((?:every|in)\s+(?:\d{1,6}\s*)?(?:m|mins?|minutes?|h|hrs?|hours?|d|days?)|at\s+\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}\S*)(?:\s+([\s\S]*))?$/i;

/** Makes the command. */
export function createScheduleCommand(schedules: Schedules): Command {
  return {
    name: 'schedule',
    description: 'about.schedule',
    argument: {
      name: 'what',
      label: 'word.what',
      description: 'argument.schedule',
      required: false,
      suggests: true,
    },
    suggest: async ({ session, args }) => {
      const rows = await schedules.list({ session });
      return namesLike(args, ['list', ...rows.map((_, index) => `remove ${index + 1}`)]);
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
          return usage(call.say);
      }
    },
  };
}

async function list(schedules: Schedules, { session, say }: CommandCall): Promise<string> {
  const rows = await schedules.list({ session });
  const now = say('schedule.now', { moment: schedules.moment(new Date()) });
  if (rows.length === 0) return `${say('schedule.none', { now })}\n\n${usage(say)}`;
  return [...rows.map((row, index) => `${index + 1}. ${schedules.describe(row, say)}`), '', now].join('\n');
}

async function add(schedules: Schedules, call: CommandCall, rest: string): Promise<string> {
  const [, when, task = ''] = QUOTED.exec(rest) ?? PLAIN.exec(rest) ?? [];
  if (when === undefined) return usage(call.say);
  const { session, address, place, userId: creatorId } = call;
  const schedule = await schedules.add({
    id: newId(),
    session,
    address,
    place,
    creatorId,
    task,
    when: parseWhen(when),
  });
  return call.say('schedule.added', { schedule: schedules.describe(schedule, call.say) });
}

async function remove(schedules: Schedules, call: CommandCall, which: string): Promise<string> {
  const rows = await schedules.list({ session: call.session });
  const schedule = /^\d{1,4}$/.test(which) ? rows[Number(which) - 1] : rows.find(({ id }) => id === which);
  if (schedule === undefined) {
    throw new GatewayError('unknown_schedule', textRef('schedule.unknown'));
  }
  if (!call.owner && schedule.creatorId !== call.userId && schedule.place === 'group')
    throw new GatewayError('forbidden', textRef('schedule.foreign'));
  await schedules.remove(schedule.id);
  return call.say('schedule.removed', { schedule: schedules.describe(schedule, call.say) });
}
