/** `parley schedule`: an operator lists, adds, runs and removes schedules of all sessions. */
import { accessOf, type Config, zoneOf } from '../config.ts';
import { isId } from '../protocol/access.ts';
import { GatewayError } from '../protocol/errors.ts';
import { type Address, parseAddress } from '../protocol/message.ts';
import { MAX_RUNS_KEPT, type ScheduleRecord, type Schedules } from '../protocol/schedules.ts';
import { newId } from '../lib/ids.ts';
import { clipEnd, escapeControls, oneLine } from '../lib/text.ts';
import { createSchedules, parseWhen } from '../schedule/index.ts';
import { createCreatorAccess } from '../security/index.ts';
import { readKey } from '../ops/sessions-command.ts';
import type { HomeStore } from '../store/index.ts';
import { PARLEY } from '../protocol/texts/parley.ts';
import { readArguments } from './arguments.ts';

/** Characters of a line in the list. */
const LINE_CHARS = 400;

const USAGE = `Expected: schedule [list [SESSION]] | add SESSION WHEN TASK [--as USER] | history ID | run ID | remove ID, with WHEN such as "0 9 * * 1-5", "every 2 hours" or "in 10 minutes". See: ${PARLEY} schedule --help`;

/** Runs a parsed command, and returns the text to print. Throws `GatewayError`. */
export type ScheduleAct = (store: HomeStore, config: Config) => Promise<string>;

/** Reads the arguments after `schedule`. Throws `GatewayError('usage')`. */
export function scheduleCommand(args: readonly string[]): ScheduleAct {
  const options = { as: { type: 'string' } } as const;
  const { positionals, values } = readArguments(args, USAGE, { options, allowPositionals: true });
  const [action = 'list', first, when, task, ...more] = positionals;
  const { as } = values;
  if (action === 'add' && first !== undefined && when !== undefined && task !== undefined) {
    const session = readKey(first);
    const request = { session, when, task: [task, ...more].join(' '), as };
    return (store, config) => add(store, config, request);
  }
  if (when !== undefined || as !== undefined) throw new GatewayError('usage', USAGE);
  if (action === 'list') {
    const session = first === undefined ? undefined : readKey(first);
    return async (store, config) => listed(await schedulesOf(store, config).list({ session }), config, store);
  }
  if (first === undefined) throw new GatewayError('usage', USAGE);
  if (action === 'run') return (store, config) => run(store, config, first);
  if (action === 'history') return (store, config) => history(store, config, first);
  if (action === 'remove') return (store, config) => remove(store, config, first);
  throw new GatewayError('usage', USAGE);
}

/** The schedules of a home from outside its gateway, with the same limits and rights as in chats. */
export function schedulesOf(store: HomeStore, config: Config): Schedules {
  const { access, ledger, surfaces } = store;
  const creatorAccess = createCreatorAccess({
    access,
    ledger,
    surfaces,
    channelAccess: (channel) => accessOf(config, channel),
  });
  const current = () => ({ limits: config.schedules, timeZone: zoneOf(config) });
  // The driver of a running gateway checks every few seconds.
  return createSchedules(store.schedules, creatorAccess, { current }, () => undefined);
}

function listed(rows: readonly ScheduleRecord[], config: Config, store: HomeStore): string {
  if (rows.length === 0) return 'No schedules yet.';
  const schedules = schedulesOf(store, config);
  const lines = rows.map(({ id, session, creatorId, ...row }) => {
    const description = schedules.describe({ id, session, creatorId, ...row });
    return escapeControls(clipEnd(`${id}  ${session}  by ${creatorId}  ${oneLine(description)}`, LINE_CHARS));
  });
  return [...lines, `It is now ${schedules.moment(new Date())}.`].join('\n');
}

interface AddRequest {
  session: Address;
  when: string;
  task: string;
  as: string | undefined;
}

async function add(
  store: HomeStore,
  config: Config,
  { session, when, task, as }: AddRequest,
): Promise<string> {
  if ((await store.ledger.session(session)) === undefined) {
    throw new GatewayError('unknown_session', `There is no session ${session}. See: ${PARLEY} sessions`);
  }
  const creatorId = as ?? (await personOf(store, config, session));
  const schedules = schedulesOf(store, config);
  const schedule = await schedules.add({
    id: newId(),
    session,
    address: session,
    creatorId,
    task,
    when: parseWhen(when),
  });
  return `Scheduled ${schedule.id} for ${creatorId}: ${escapeControls(oneLine(schedules.describe(schedule)))}`;
}

/** Whose rights apply: the person of a private chat, the token of an HTTP session. */
async function personOf(store: HomeStore, config: Config, session: Address): Promise<string> {
  const token = (await store.ledger.session(session))?.ownerTokenId;
  if (token !== undefined) return `token:${token}`;
  const { channel, chatId } = parseAddress(session);
  const ids = config.channels.find(({ name }) => name === channel)?.ids;
  if (ids?.privacyOf?.(chatId) === 'private' && isId(chatId, ids.userId)) return `${channel}:${chatId}`;
  throw new GatewayError(
    'usage',
    `Say who it runs for in ${session}: --as ${channel}:USER_ID (in a group, an owner).`,
  );
}

async function run(store: HomeStore, config: Config, id: string): Promise<string> {
  const schedules = schedulesOf(store, config);
  const schedule = await find(schedules, id);
  await schedules.runNow(schedule.id);
  return `${schedule.id} is due now; a running gateway starts it within seconds.`;
}

async function history(store: HomeStore, config: Config, id: string): Promise<string> {
  const schedules = schedulesOf(store, config);
  const schedule = await find(schedules, id);
  const runs = (await schedules.runs(schedule.id)) ?? [];
  const description = escapeControls(clipEnd(oneLine(schedules.describe(schedule)), LINE_CHARS));
  const lines = runs.map(({ dueAt, at, result, turn, turnId }) => {
    const end = turn?.endedAt === undefined ? '' : `, ended ${schedules.moment(turn.endedAt)}`;
    const trace = turn === undefined ? '' : `  ${PARLEY} trace ${turnId}`;
    return `due ${schedules.moment(dueAt)}, at ${schedules.moment(at)}${end}: ${result}${trace}`;
  });
  if (lines.length === 0) return `${description}\nNo runs yet.`;
  const rest = lines.length === MAX_RUNS_KEPT ? [`Only the newest ${MAX_RUNS_KEPT} are kept.`] : [];
  return [description, ...lines.map((line) => escapeControls(line)), ...rest].join('\n');
}

async function remove(store: HomeStore, config: Config, id: string): Promise<string> {
  const schedules = schedulesOf(store, config);
  const schedule = await find(schedules, id);
  await schedules.remove(schedule.id);
  return `Removed: ${escapeControls(oneLine(schedules.describe(schedule)))}`;
}

async function find(schedules: Schedules, id: string): Promise<ScheduleRecord> {
  const schedule = await schedules.find(id);
  if (schedule !== undefined) return schedule;
  throw new GatewayError(
    'unknown_schedule',
    `There is no schedule ${oneLine(id).slice(0, 80)}. See: ${PARLEY} schedule`,
  );
}
