/** The commands of every gateway: they bypass the queue and need no model. Other modules add more. */
import { readerOf } from '../contracts/errors.ts';
import type { ErrorReader } from '../contracts/errors.ts';
import type { MessageBus } from '../contracts/bus.ts';
import type { BoundTo, Command, CommandCall, CommandListing } from '../contracts/command.ts';
import type { LaneStore, StopResult } from '../contracts/store/lanes.ts';
import type { McpServerStatus } from '../contracts/mcp/servers.ts';
import type { SessionStore } from '../contracts/store/ledger.ts';
import { oneLine } from '../lib/text.ts';
import type { SessionKey } from '../contracts/message.ts';
import type { SettingsReport } from '../contracts/settings.ts';
import { describeSources, taints } from '../contracts/risk.ts';
import type { SubagentStore, RunningSubagent } from '../contracts/subagents.ts';

export interface CommandDeps {
  lanes: Pick<LaneStore, 'stop'>;
  bus: Pick<MessageBus, 'notifyStop' | 'sweepSoon'>;
  ledger: Pick<SessionStore, 'session' | 'queue' | 'newSessions'>;
  subagents: Pick<SubagentStore, 'working'>;
  /** Epoch milliseconds. */
  epochNow(): number;
  /** The model used when a session of this profile names none, for `/status`. */
  defaultModel(profileId: string | undefined, reader: ErrorReader): Promise<string>;
  /** What is special about the answers of a model now, as ` (…)`; '' when nothing is. Never throws. */
  aboutModel(model: string): Promise<string>;
  /** The binding of config.json for whoever writes a command, if any. */
  boundTo: BoundTo;
  /** Errors in the files of the profiles. */
  profileErrors(): readonly string[];
  /** The MCP servers of this gateway. */
  mcp(): readonly McpServerStatus[];
  settingsReport(): SettingsReport;
  /** What should be changed at the platforms of the channels. */
  channelNotices(): readonly string[];
}

/** Longest part of a subagent's task that `/status` repeats, in UTF-16 units. */
const TASK_SHOWN = 120;

/** Greeting of a user who opens the chat for the first time. */
export const GREETING =
  'Hello! Write to me as you would to a person; I answer right here. You can also send:';

/** Finds the command in a message that begins with one, such as `/stop`, with or without arguments. */
export type CommandReader = (content: string) => { command: Command; args: string } | undefined;

/** Makes the reader of a list of commands. */
export function readCommands(commands: readonly Command[]): CommandReader {
  const byName = new Map(commands.map((command) => [command.name, command]));
  return (content) => {
    const [, name, args = ''] = /^\/([a-z]+)(?:\s+(.*))?$/is.exec(content.trim()) ?? [];
    const command = name === undefined ? undefined : byName.get(name.toLowerCase());
    return command === undefined ? undefined : { command, args: args.trim() };
  };
}

/** `/stop`, `/new`, `/status`, the given ones, `/help`, which lists them all, and the `/start` of Telegram's button. */
export function createCommands(deps: CommandDeps, more: readonly Command[] = []): readonly Command[] {
  const all: Command[] = [
    {
      name: 'stop',
      description: 'Stop the running answer and drop queued messages',
      // The same as POST /v1/sessions/:key/stop.
      scope: 'chat',
      run: async ({ session }) =>
        describeStop(await stopSession(deps, session, false), 'Nothing is running.'),
    },
    {
      name: 'new',
      description: 'Start a fresh conversation',
      run: async ({ session }) => {
        const stopped = describeStop(await stopSession(deps, session, true), '');
        return `${stopped}${stopped === '' ? '' : ' '}This is a new conversation.`;
      },
    },
    {
      name: 'status',
      description: 'Show what is running and what is queued',
      run: (call) => describeStatus(deps, call),
    },
    ...more,
    { name: 'help', description: 'List the commands', run: () => Promise.resolve(help(all)) },
    {
      name: 'start',
      description: 'Say hello',
      unlisted: true,
      run: () => Promise.resolve(`${GREETING}\n\n${help(all)}`),
    },
  ];
  return all;
}

/** The commands that channels offer to people. */
export function listingOf(commands: readonly Command[]): readonly CommandListing[] {
  return commands
    .filter((command) => command.unlisted !== true)
    .map(({ name, description, argument, place }) => ({
      name,
      description,
      ...(argument && { argument }),
      ...(place && { place }),
    }));
}

function help(commands: readonly Command[]): string {
  return listingOf(commands).map(helpLine).join('\n');
}

function helpLine({ name, argument, description }: CommandListing): string {
  return `/${name}${argument === undefined ? '' : ` ${argument.name}`} - ${description}`;
}

/** Stops a session: the mark is committed before this resolves, then the node that runs the turn is notified. */
export async function stopSession(
  deps: Pick<CommandDeps, 'lanes' | 'bus'>,
  session: SessionKey,
  fresh: boolean,
): Promise<StopResult> {
  const result = await deps.lanes.stop(session, { fresh });
  deps.bus.notifyStop(`in:${session}`);
  deps.bus.sweepSoon();
  return result;
}

function describeStop(result: StopResult, nothing: string): string {
  const cancelled =
    result.cancelled === 1 ? '1 queued message was' : `${result.cancelled} queued messages were`;
  const agents = result.agents === undefined ? [] : [`Subagents ended: ${result.agents}.`];
  const dropped = result.cancelled === 0 ? [] : [`${cancelled} dropped.`];
  if (result.stopped) return ['Stopped.', ...dropped, ...agents].join(' ');
  if (result.cancelled > 0) return ['Nothing was running.', ...dropped, ...agents].join(' ');
  return agents.join(' ') || nothing;
}

async function describeStatus(deps: CommandDeps, call: CommandCall): Promise<string> {
  const { ledger, subagents } = deps;
  const { session } = call;
  const reader = readerOf(call);
  const [record, queue, agents] = await Promise.all([
    ledger.session(session),
    ledger.queue(session),
    subagents.working(session),
  ]);
  const bound = record?.profileChosen === true ? undefined : deps.boundTo(call);
  const profileId = bound?.profile ?? record?.profileId ?? 'default';
  const model = record?.model ?? bound?.model ?? (await deps.defaultModel(profileId, reader));
  const waiting = queue.waiting === 0 ? 'nothing is waiting' : `${queue.waiting} waiting`;
  return [
    `${queue.busy ? 'Answering' : 'Idle'}, ${waiting}.`,
    `Model: ${model}${await deps.aboutModel(model)}`,
    `Profile: ${profileId}${bound === undefined ? '' : ' (bound in config.json)'}`,
    `Mode: ${(record ?? ledger.newSessions).mode}`,
    `Messages in this session: ${record?.messageCount ?? 0}`,
    ...(taints(record?.sources ?? [])
      ? [`Text of others it has read: ${describeSources(record?.sources ?? [])}`]
      : []),
    ...agents.map((agent) => agentLine(agent, deps.epochNow())),
    ...deps.mcp().flatMap((server) => serverLines(server, reader)),
    ...(deps.profileErrors().length === 0 ? [] : ['Some profiles have errors: /profile lists them.']),
    ...(reader === 'operator' ? [...deps.channelNotices(), ...settingsLines(deps.settingsReport())] : []),
  ].join('\n');
}

/** One line for everybody; what is wrong, and what is left out, for operators. */
function serverLines(server: McpServerStatus, reader: ErrorReader): string[] {
  const { name, state, tools, error, notices } = server;
  const many = tools.length === 1 ? '1 tool' : `${tools.length} tools`;
  const details = reader === 'operator' ? [...(error === undefined ? [] : [error]), ...notices] : [];
  return [`MCP server ${name}: ${state}, ${many}`, ...details.map((detail) => `  ${detail}`)];
}

/** What whoever runs the gateway should know of its file of settings. */
function settingsLines({ errors, needsRestart }: SettingsReport): string[] {
  const broken = 'The settings have errors; their last valid content stays in use:';
  return [
    ...(errors.length === 0 ? [] : [broken, ...errors.map((error) => `- ${error}`)]),
    ...(needsRestart.length === 0
      ? []
      : [`Changed settings that need a restart: ${needsRestart.join(', ')}`]),
  ];
}

function agentLine({ profileId, task, deadline }: RunningSubagent, now: number): string {
  const line = oneLine(task);
  const shown = line.length <= TASK_SHOWN ? line : `${line.slice(0, TASK_SHOWN).toWellFormed()}…`;
  const minutes = Math.max(0, Math.ceil((deadline - now) / 60_000));
  return `In the background, at most ${minutes} min left: ${profileId}: ${shown}`;
}
