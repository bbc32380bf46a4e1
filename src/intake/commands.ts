/** The commands of every gateway: they bypass the queue and need no model. Other modules add more. */
import type { PluginStatus } from '../protocol/operator/plugins.ts';
import type { IntakeContext } from './context.ts';
import { type ErrorReader, readerOf } from '../protocol/errors.ts';
import {
  type Command,
  type CommandCall,
  type CommandListing,
  MAX_SUGGESTIONS,
  type Suggest,
} from '../protocol/command.ts';
import type { McpServerStatus } from '../protocol/agent/tool.ts';
import type { Ledger } from '../protocol/store/ledger.ts';
import { systemClock } from '../lib/clock.ts';
import { clipEnd, oneLine } from '../lib/text.ts';
import type { WebhookState } from '../protocol/operator/webhooks.ts';
import type { SettingsReport } from '../protocol/settings.ts';
import { describeSources, taints } from '../protocol/agent/risk.ts';
import type { ApprovalRecord } from '../protocol/agent/approvals.ts';
import type { RunningSubagent } from '../protocol/agent/subagents.ts';
import { alsoAskedIn } from './approvals/commands.ts';
import { newCommand } from './session-commands.ts';
import { describeStop, stopSession } from './sessions.ts';
import { whereOf } from './surfaces/surface-text.ts';
import { inEnglish, type PlainKey, type Say, type TextRef } from '../protocol/texts/say.ts';
import type { AccessPolicy } from '../protocol/access.ts';
import { addressOf, chatOf, memoryOwnerOf, userIdOf } from '../protocol/message.ts';

/** Most pending requests that `/status` names. */
const MAX_WAITS_SHOWN = 5;
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
export function createCommands(context: IntakeContext, more: readonly Command[]): readonly Command[] {
  const all: Command[] = [
    {
      name: 'stop',
      description: 'about.stop',
      // The same as POST /v1/sessions/:key/stop.
      scope: 'chat',
      run: async ({ session, say }) =>
        describeStop(await stopSession(context, session, false), say, 'stop.nothing'),
    },
    newCommand(context),
    {
      name: 'status',
      description: 'about.status',
      personal: true,
      run: (call) => describeStatus(context, call),
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
  const byName = new Map(commands.map((command) => [command.name, command]));
  return listingOf(commands).map(({ argument, ...listing }) => {
    const { description: about, argument: keys, personal } = byName.get(listing.name) ?? {};
    return {
      ...listing,
      about,
      ...(personal && { personal }),
      ...(argument && { argument: { ...argument, about: keys?.description } }),
    };
  });
}

/** What the commands in `/help` are about, in this order; all others come last. */
const HELP_GROUPS: readonly (readonly [title: PlainKey, names: readonly string[]])[] = [
  [
    'help.chat',
    ['stop', 'new', 'retry', 'undo', 'title', 'queue', 'status', 'language', 'voice', 'stream', 'rich'],
  ],
  ['help.plans', ['plan', 'plans', 'run', 'skip', 'pause', 'resume', 'mode']],
  ['help.model', ['profile', 'model', 'prompt', 'usage', 'why']],
  ['help.memory', ['memory', 'verify', 'forget']],
  ['help.rights', ['approve', 'deny', 'rules', 'trust', 'observe']],
  ['help.chats', ['link', 'unlink', 'surfaces']],
];

/** The commands with what they do, in groups. */
function help(commands: readonly Command[], say: Say): string {
  const listed = listingOf(commands, say);
  const grouped = new Set(HELP_GROUPS.flatMap(([, names]) => names));
  const others = listed.map(({ name }) => name).filter((name) => !grouped.has(name));
  return [...HELP_GROUPS, ['help.more', others] as const]
    .map(([title, names]) => [title, listed.filter(({ name }) => names.includes(name))] as const)
    .filter(([, inGroup]) => inGroup.length > 0)
    .map(([title, inGroup]) => [`**${say(title)}**`, ...inGroup.map((one) => helpLine(one, say))].join('\n'))
    .join('\n\n');
}

function helpLine({ name, argument, description }: CommandListing, say: Say): string {
  const words = argument === undefined ? '' : ` *${argument.label ?? argument.name}*`;
  return `${say.command(name)}${words} - ${description}`;
}

async function describeStatus(context: IntakeContext, call: CommandCall): Promise<string> {
  const { ledger, models, status, store } = context;
  const { session, say } = call;
  const reader = readerOf(call);
  const [record, queue, agents, waits, questions] = await Promise.all([
    ledger.session(session),
    ledger.queue(session),
    store.subagents.working(session),
    waitLines(context, call),
    context.approvals.questions({ session }),
  ]);
  const binding = record?.profileChosen === true ? undefined : context.boundTo(call);
  const profileId = binding?.profile ?? record?.profileId ?? 'default';
  const model = record?.model ?? binding?.model ?? (await models.describe(profileId, reader, say));
  const queueText =
    queue.waiting === 0 ? say('status.none_waiting') : say('status.waiting', { count: queue.waiting });
  const sources = record?.sources ?? [];
  return [
    say('status.state', { state: say(queue.busy ? 'status.answering' : 'status.idle'), waiting: queueText }),
    say('status.model', { model: `${model}${await models.about(model, say)}` }),
    say('status.profile', {
      profile: binding === undefined ? profileId : say('status.bound', { profile: profileId }),
    }),
    say('status.mode', { mode: (record ?? ledger.newSessions).mode }),
    say('status.messages', { messages: record?.messageCount ?? 0 }),
    ...(taints(sources) ? [say('status.sources', { sources: describeSources(sources, say) })] : []),
    ...waits,
    ...questions.map((one) => askedLine(one, say)),
    ...agents.map((agent) => agentLine(agent, say)),
    ...status.mcp().flatMap((server) => serverLines(server, reader, say)),
    ...(status.profileErrors().length === 0 ? [] : [say('status.profile_errors')]),
    ...(reader === 'operator'
      ? [
          ...status.plugins().map((plugin) => pluginLine(plugin, say)),
          ...status.channelNotices().map((notice) => say.text(notice)),
          ...webhookLines(await status.webhooks(), say),
          ...settingsLines(status.settings(), say),
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

function pluginLine({ label: name, version, state, detail }: PluginStatus, say: Say): string {
  const line = say('status.plugin', { name, version, state });
  return detail === undefined ? line : `${line}\n  ${detail}`;
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

/** What waits for a decision in the conversation or, for an owner who was asked here, elsewhere. */
async function waitLines(context: IntakeContext, call: CommandCall): Promise<string[]> {
  const { session, address, owner, say } = call;
  const own = await context.approvals.pending({ session, limit: MAX_WAITS_SHOWN });
  const others = owner ? await alsoAskedIn(context.approvals, address) : [];
  const waits = [...own, ...others].slice(0, MAX_WAITS_SHOWN);
  return await Promise.all(
    waits.map(async (one) => {
      const isHere = chatOf(one.address) === chatOf(address);
      return waitLine(one, isHere ? undefined : await whereIs(context, one), say);
    }),
  );
}

/** Another chat, by its name if the network has told it. */
async function whereIs(
  { store, linking }: IntakeContext,
  { address, place }: ApprovalRecord,
): Promise<TextRef> {
  const chat = await store.contacts.contact(chatOf(address));
  return whereOf(
    { address, place: chat?.place ?? place ?? 'private', name: chat?.name },
    linking.labelOf,
    chat,
  );
}

/** What waits for a decision, and for whom; `where` if that is another chat. */
function waitLine(
  { tool, plan, askedBy, expiresAt }: ApprovalRecord,
  where: TextRef | undefined,
  say: Say,
): string {
  const asker = askedBy === undefined ? say('status.nobody') : clipEnd(oneLine(askedBy), TASK_SHOWN);
  const who = where === undefined ? asker : say('status.who_elsewhere', { who: asker, where });
  const minutes = minutesUntil(expiresAt);
  return plan === undefined
    ? say('status.approval', { tool, who, minutes })
    : say('status.plan_wait', { who, minutes });
}

function askedLine({ question, expiresAt }: ApprovalRecord, say: Say): string {
  return say('status.asked', { minutes: minutesUntil(expiresAt), who: question?.label ?? '' });
}

function minutesUntil(end: Date): number {
  return Math.max(0, Math.ceil((end.getTime() - systemClock.epochMs()) / 60_000));
}

function agentLine({ profileId, task, leftMs }: RunningSubagent, say: Say): string {
  const line = oneLine(task);
  const clipped = line.length <= TASK_SHOWN ? line : `${line.slice(0, TASK_SHOWN).toWellFormed()}…`;
  const minutes = Math.max(0, Math.ceil(leftMs / 60_000));
  return say('status.agent', { minutes, profile: profileId, task: clipped });
}

/** Makes `Suggest`; it stores and changes nothing. */
export function createSuggest(
  commands: readonly Command[],
  accessPolicy: AccessPolicy,
  ledger: Ledger,
): Suggest {
  const read = readCommands(commands);
  return async (message) => {
    const use = read(message.content);
    if (use?.command.suggest === undefined) return [];
    const writer = await accessPolicy.mayWrite(message);
    if (writer === undefined) return [];
    const address = addressOf(message);
    const { senderId, senderName, place } = message;
    const suggestions = await use.command.suggest({
      session: await ledger.sessionOf(address),
      address,
      senderId,
      senderName,
      userId: userIdOf(message),
      memoryOwner: memoryOwnerOf(message),
      place,
      owner: writer.owner,
      args: use.args,
      say: inEnglish,
    });
    return suggestions.slice(0, MAX_SUGGESTIONS);
  };
}
