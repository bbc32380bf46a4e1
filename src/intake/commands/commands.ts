/** The commands of every gateway: they bypass the queue and need no model. Other modules add more. */
import { type ErrorReader, readerOf } from '../../protocol/errors.ts';
import type { BoundTo, Command, CommandCall, CommandListing } from '../../protocol/command.ts';
import type { McpServerStatus } from '../../protocol/agent/tool.ts';
import type { SessionStore } from '../../protocol/store/ledger.ts';
import { oneLine } from '../../lib/text.ts';
import type { WebhookState } from '../../protocol/operator/webhooks.ts';
import type { SettingsReport } from '../../protocol/settings.ts';
import { describeSources, taints } from '../../protocol/agent/risk.ts';
import type { SubagentStore, RunningSubagent } from '../../protocol/agent/subagents.ts';
import { newCommand, type NewDeps } from '../sessions/new-command.ts';
import { describeStop, stopSession } from '../sessions/stop-session.ts';
import { inEnglish, type Say, type TextRef } from '../../protocol/texts/say.ts';

export interface CommandDeps extends NewDeps {
  ledger: NewDeps['ledger'] & Pick<SessionStore, 'session' | 'queue' | 'newSessions'>;
  subagents: Pick<SubagentStore, 'working'>;
  /** The model used when a session of this profile names none, for `/status`. */
  defaultModel(profileId: string | undefined, reader: ErrorReader, say?: Say): Promise<string>;
  /** What is currently special about a model's answers, as ` (…)`; '' when nothing is. Never throws. */
  aboutModel(model: string, say: Say): Promise<string>;
  /** The binding of config.json for the sender of a command, if any. */
  boundTo: BoundTo;
  /** Errors in the files of the profiles. */
  profileErrors(): readonly TextRef[];
  /** The MCP servers of this gateway. */
  mcp(): readonly McpServerStatus[];
  settingsReport(): SettingsReport;
  /** Outbound webhooks with waiting events. Throws only `StoreError`. */
  webhooks(): Promise<readonly WebhookState[]>;
  /** What should be changed on the channels' platforms. */
  channelNotices(): readonly TextRef[];
}

/** Longest part of a subagent's task that `/status` repeats, in UTF-16 units. */
const TASK_SHOWN = 120;

/** Finds the command in a message that starts with one, such as `/stop`, with or without arguments. */
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
      description: 'about.stop',
      // The same as POST /v1/sessions/:key/stop.
      scope: 'chat',
      run: async ({ session, say }) =>
        describeStop(await stopSession(deps, session, false), say, 'stop.nothing'),
    },
    newCommand(deps),
    {
      name: 'status',
      description: 'about.status',
      personal: true,
      run: (call) => describeStatus(deps, call),
    },
    ...more,
    {
      name: 'help',
      description: 'about.help',
      personal: true,
      run: ({ say }) => Promise.resolve(help(all, say)),
    },
    {
      name: 'start',
      description: 'about.start',
      unlisted: true,
      run: ({ say }) => Promise.resolve(`${say('greeting.first')}\n\n${help(all, say)}`),
    },
  ];
  return all;
}

/** The commands that channels offer to people, described in a language. */
export function listingOf(commands: readonly Command[], say: Say = inEnglish): readonly CommandListing[] {
  return commands
    .filter((command) => command.unlisted !== true)
    .map(({ name, description, argument, place, owners }) => ({
      name,
      description: say(description),
      ...(argument && {
        argument: { ...argument, label: say(argument.label), description: say(argument.description) },
      }),
      ...(place && { place }),
      ...(owners && { owners }),
    }));
}

/** The same in English, including what channels show in other ways. */
export function listingInAll(commands: readonly Command[]): readonly CommandListing[] {
  const known = new Map(commands.map((command) => [command.name, command]));
  return listingOf(commands).map(({ argument, ...listing }) => {
    const { description: about, argument: keys, personal } = known.get(listing.name) ?? {};
    return {
      ...listing,
      about,
      ...(personal && { personal }),
      ...(argument && { argument: { ...argument, about: keys?.description } }),
    };
  });
}

function help(commands: readonly Command[], say: Say): string {
  return listingOf(commands, say)
    .map((one) => helpLine(one, say))
    .join('\n');
}

function helpLine({ name, argument, description }: CommandListing, say: Say): string {
  return `${say.command(name)}${argument === undefined ? '' : ` ${argument.label ?? argument.name}`} - ${description}`;
}

async function describeStatus(deps: CommandDeps, call: CommandCall): Promise<string> {
  const { ledger, subagents } = deps;
  const { session, say } = call;
  const reader = readerOf(call);
  const [record, queue, agents] = await Promise.all([
    ledger.session(session),
    ledger.queue(session),
    subagents.working(session),
  ]);
  const bound = record?.profileChosen === true ? undefined : deps.boundTo(call);
  const profileId = bound?.profile ?? record?.profileId ?? 'default';
  const model = record?.model ?? bound?.model ?? (await deps.defaultModel(profileId, reader, say));
  const waiting =
    queue.waiting === 0 ? say('status.none_waiting') : say('status.waiting', { count: queue.waiting });
  const sources = record?.sources ?? [];
  return [
    say('status.state', { state: say(queue.busy ? 'status.answering' : 'status.idle'), waiting }),
    say('status.model', { model: `${model}${await deps.aboutModel(model, say)}` }),
    say('status.profile', {
      profile: bound === undefined ? profileId : say('status.bound', { profile: profileId }),
    }),
    say('status.mode', { mode: (record ?? ledger.newSessions).mode }),
    say('status.messages', { messages: record?.messageCount ?? 0 }),
    ...(taints(sources) ? [say('status.sources', { sources: describeSources(sources, say) })] : []),
    ...agents.map((agent) => agentLine(agent, say)),
    ...deps.mcp().flatMap((server) => serverLines(server, reader, say)),
    ...(deps.profileErrors().length === 0 ? [] : [say('status.profile_errors')]),
    ...(reader === 'operator'
      ? [
          ...deps.channelNotices().map((notice) => say.text(notice)),
          ...webhookLines(await deps.webhooks(), say),
          ...settingsLines(deps.settingsReport(), say),
        ]
      : []),
  ].join('\n');
}

/** One line for everyone; problems and omissions for operators. */
function serverLines(server: McpServerStatus, reader: ErrorReader, say: Say): string[] {
  const { name, state, tools, error, notices } = server;
  const details = reader === 'operator' ? [...(error === undefined ? [] : [error]), ...notices] : [];
  const line = say('status.server', { name, state, count: tools.length });
  return [line, ...details.map((detail) => `  ${detail}`)];
}

function webhookLines(webhooks: readonly WebhookState[], say: Say): string[] {
  return webhooks.map(({ name, waiting: count, error }) =>
    error === undefined
      ? say('status.webhook', { name, count })
      : say('status.webhook_failing', { name, count, error }),
  );
}

/** What operators should know about the settings file. */
function settingsLines({ errors, needsRestart }: SettingsReport, say: Say): string[] {
  const broken = say('status.settings_errors');
  return [
    ...(errors.length === 0 ? [] : [broken, ...errors.map((error) => `- ${error}`)]),
    ...(needsRestart.length === 0 ? [] : [say('status.needs_restart', { fields: needsRestart.join(', ') })]),
  ];
}

function agentLine({ profileId, task, leftMs }: RunningSubagent, say: Say): string {
  const line = oneLine(task);
  const shown = line.length <= TASK_SHOWN ? line : `${line.slice(0, TASK_SHOWN).toWellFormed()}…`;
  const minutes = Math.max(0, Math.ceil(leftMs / 60_000));
  return say('status.agent', { minutes, profile: profileId, task: shown });
}
