/** The tool `cron`: scheduled work that the model creates, lists and removes (B-24). */
import { z } from 'zod';
import { ToolError } from '../protocol/errors.ts';
import { MAX_TASK_LENGTH, type Schedules } from '../protocol/schedules.ts';
import { mergeSources, type Source, UNKNOWN_SOURCES } from '../protocol/agent/risk.ts';
import type { FindChat } from '../protocol/delivery.ts';
import { defineTool, type Tool, type ToolContext, type ToolResult } from '../protocol/agent/tool.ts';
import { withSlash } from '../protocol/isomorphic/fill-text.js';
import { chatOf, otherChat, whyNoChat } from './message.ts';

/** Longest interval and longest delay, in minutes. */
const MAX_MINUTES = 366 * 24 * 60;

const text = (most: number, about: string) => z.string().min(1).max(most).optional().describe(about);

const parameters = z.strictObject({
  action: z.enum(['add', 'list', 'remove']),
  task: text(
    MAX_TASK_LENGTH,
    'For add: what you should do then, with everything you need to know, because no one will be there to ask.',
  ),
  cron: text(200, 'For add: a cron line, such as "0 9 * * 1-5" for nine o\'clock on weekdays.'),
  time_zone: text(60, 'The time zone of cron or at, such as Europe/Berlin.'),
  every_minutes: z.number().min(1).max(MAX_MINUTES).optional().describe('For add, instead of cron.'),
  in_minutes: z
    .number()
    .min(0)
    .max(MAX_MINUTES)
    .optional()
    .describe('For add: once, this many minutes from now.'),
  at: text(
    60,
    'For add: once, at a time such as 2026-12-01 09:00, or with an offset 2026-12-01T09:00:00+01:00.',
  ),
  to: otherChat.describe(
    'For add, where the answer goes: another chat of the same person, by the name of its network, or by an address of this conversation. Usually left out.',
  ),
  id: text(200, 'For remove: the id that list shows.'),
});

type Args = z.infer<typeof parameters>;

/** Makes the tool. */
export function createCron(schedules: Schedules, findChat: FindChat): Tool {
  return defineTool({
    name: 'cron',
    description:
      'Do something later or repeatedly: add, list or remove scheduled tasks of this chat. When the time comes you are given the task and your answer is sent here. Say when in exactly one way.',
    parameters,
    // The call's own key names the schedule: a second run finds it there.
    effect: 'idempotent',
    risk: ({ action }) => (action === 'list' ? 'safe' : 'caution'),
    results: 'operator',
    reach: ({ action }) => (action === 'list' ? 'session' : 'outside'),
    changes: ({ action }) => (action === 'list' ? [] : ['schedules']),
    async execute(args: Args, ctx) {
      switch (args.action) {
        case 'add':
          return await add(schedules, findChat, args, ctx);
        case 'list':
          return await list(schedules, ctx);
        case 'remove':
          return { content: await remove(schedules, args, ctx) };
        default:
          return args.action satisfies never;
      }
    },
  });
}

async function add(
  schedules: Schedules,
  findChat: FindChat,
  args: Args,
  ctx: ToolContext,
): Promise<ToolResult> {
  if (ctx.agentId !== undefined) {
    const message = 'Subagents cannot make schedules; say in your result what should be scheduled.';
    throw new ToolError('forbidden', message);
  }
  const { cron, every_minutes: everyMinutes, in_minutes: inMinutes, at, time_zone: timeZone } = args;
  const chat = await chatOf(findChat, args.to, ctx);
  if (chat.kind !== 'found')
    return { content: `Not scheduled: ${whyNoChat(chat, args.to ?? '', ctx)}`, isError: true };
  const { session, address } = chat;
  const schedule = await schedules.add({
    id: ctx.callKey,
    session,
    address,
    place: address === ctx.address ? ctx.place : undefined,
    creatorId: ctx.userId,
    task: args.task ?? '',
    // If no one says what was read before, assume the worst.
    sources: ctx.sources ?? UNKNOWN_SOURCES,
    when: { cron, everyMinutes, inMinutes, at, timeZone },
  });
  const where = args.to === undefined ? '' : ` It answers in ${address}.`;
  const otherSession =
    session === ctx.sessionKey
      ? ''
      : ' It belongs to the conversation there: the list of schedules in that chat has it.';
  return {
    content: `Scheduled with id ${schedule.id}: ${schedules.describe(schedule)}${where}${otherSession}\n${nowLine(schedules)}`,
  };
}

async function list(schedules: Schedules, ctx: ToolContext): Promise<ToolResult> {
  const rows = await schedules.list({ session: ctx.sessionKey });
  const lines = rows.map((row) => `${row.id}: ${schedules.describe(row)}`);
  const all = [...(lines.length === 0 ? ['Nothing is scheduled in this chat.'] : lines), nowLine(schedules)];
  const sources = rows.reduce<readonly Source[]>((merged, row) => mergeSources(merged, row.sources), []);
  return { content: all.join('\n'), sources, from: 'the schedules of this chat' };
}

/** In a group, people remove only what they created themselves; owners have the command for the rest. */
async function remove(schedules: Schedules, { id }: Args, ctx: ToolContext): Promise<string> {
  const schedule = (await schedules.list({ session: ctx.sessionKey })).find((row) => row.id === id);
  if (schedule === undefined) {
    const message = 'There is no schedule with that id in this chat; list shows them.';
    throw new ToolError('unknown_schedule', message);
  }
  if (schedule.place === 'group' && schedule.creatorId !== ctx.userId) {
    throw new ToolError(
      'forbidden',
      `Another person made that; they can remove it, or an owner with ${(ctx.command ?? withSlash)('schedule')} remove.`,
    );
  }
  await schedules.remove(schedule.id);
  return `Removed: ${schedules.describe(schedule)}`;
}

function nowLine(schedules: Schedules): string {
  return `It is now ${schedules.moment(new Date())}.`;
}
