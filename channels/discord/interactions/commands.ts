/**
 * The commands that people see, and their registration: Discord counts overwrites, so an unchanged list is left
 * alone.
 */
import {
  ApplicationCommandOptionType,
  ApplicationCommandType,
  ApplicationIntegrationType,
  InteractionContextType,
  PermissionFlagsBits,
} from 'discord-api-types/v10';
import { z } from 'zod';
import type { CommandListing } from '../../../src/protocol/command.ts';
import type { DiscordRest } from '../rest/rest.ts';
import { listAsRegistered } from './registered.ts';
import { bestLanguage, type Languages } from '../../../src/protocol/texts/languages.ts';
import { inEnglish, type PlainKey, type Say } from '../../../src/protocol/texts/say.ts';

/** Every language of Discord's except English, which everyone who reads none of these gets. */
const LOCALES =
  'id da de es-ES es-419 fr hr it lt hu nl no pl pt-BR ro fi sv-SE vi tr cs el bg ru uk hi th zh-CN ja zh-TW ko'.split(
    ' ',
  );

/** A text in other languages; absent if there is none. */
type Localizations = Record<string, string> | undefined;

/** Returns a text in all of them. */
type Localize = (key: PlainKey | undefined) => Localizations;

/** Discord's limits: commands of one application, characters of a name and of a description, choices of an option. */
const MAX_COMMANDS = 100;
const MAX_NAME = 32;
const NAME = /^[-_a-z0-9]{1,32}$/;
const MAX_DESCRIPTION = 100;
const MAX_CHOICE = 100;
const MAX_CHOICES = 25;
/** What Discord accepts as the name of an option. */
const OPTION_NAME = /^[-_\p{Ll}\p{N}]{1,32}$/u;

interface CommandOption {
  type: number;
  name: string;
  description: string;
  description_localizations?: Localizations;
  required: boolean;
  /** All possible values. */
  choices?: { name: string; value: string }[];
  /** Discord requests suggestions while it is typed. */
  autocomplete?: true;
}

/** A command as Discord registers it. */
export interface DiscordCommand {
  type: ApplicationCommandType.ChatInput | ApplicationCommandType.Message;
  name: string;
  name_localizations?: Localizations;
  /** Empty for a command on a message. */
  description: string;
  description_localizations?: Localizations;
  options: CommandOption[];
  /** Who sees it in a server, unless the server's settings say otherwise: a set of permissions. */
  default_member_permissions?: string;
  /** Where it can be used: in servers, in private with the bot, and in other people's chats. */
  contexts: number[];
  /** Who may have installed the app for that: a server, a person; set when the list is registered. */
  integration_types?: number[];
}

const contexts = [
  InteractionContextType.Guild,
  InteractionContextType.BotDM,
  InteractionContextType.PrivateChannel,
];

/** Discord's own way to write a message: everything else in the list comes from the gateway. */
const ASK = 'ask';

function askCommand(localize: Localize): DiscordCommand {
  return {
    type: ApplicationCommandType.ChatInput,
    name: ASK,
    ...named(fittingNames(localize('menu.ask'))),
    description: inEnglish('about.ask'),
    ...described(localize('about.ask')),
    options: [
      {
        type: ApplicationCommandOptionType.String,
        name: 'prompt',
        description: inEnglish('argument.ask_prompt'),
        ...described(localize('argument.ask_prompt')),
        required: true,
      },
      {
        type: ApplicationCommandOptionType.Attachment,
        name: 'file',
        description: inEnglish('argument.ask_file'),
        ...described(localize('argument.ask_file')),
        required: false,
      },
    ],
    contexts,
  };
}

/** Commands in the menu of a message (*Apps*), by the names under which Discord sends them back. */
export const ASK_ABOUT = inEnglish('menu.ask_about');
export const SUMMARISE = inEnglish('menu.summarise');

function onMessages(localize: Localize): DiscordCommand[] {
  return [
    { name: ASK_ABOUT, ...named(localize('menu.ask_about')) },
    { name: SUMMARISE, ...named(localize('menu.summarise')) },
  ].map((one) => ({
    type: ApplicationCommandType.Message,
    ...one,
    description: '',
    options: [],
    contexts,
  }));
}

/** The commands on messages, `/ask`, and the gateway's commands, within Discord's limits: one refused command would cost the whole list. */
export function toDiscordCommands(
  commands: readonly CommandListing[],
  languages: Languages,
): DiscordCommand[] {
  const localize = localizeBy(languages, MAX_DESCRIPTION);
  const fitting = commands.filter(({ name }) => name !== ASK && NAME.test(name));
  const slash = [askCommand(localize), ...fitting.map((one) => toSlashCommand(one, localize))];
  return slash.slice(0, MAX_COMMANDS).concat(onMessages(localizeBy(languages, MAX_NAME)));
}

function toSlashCommand(
  { name, description, about, argument, place, owners }: CommandListing,
  localize: Localize,
): DiscordCommand {
  return {
    type: ApplicationCommandType.ChatInput,
    name,
    description: clip(description, MAX_DESCRIPTION),
    ...described(localize(about)),
    options: argument === undefined ? [] : [toOption(argument, localize)],
    // The gateway checks its own owners; this only hides the command from everyone else's menus.
    ...(owners && { default_member_permissions: String(PermissionFlagsBits.ManageGuild) }),
    contexts: place === 'group' ? [InteractionContextType.Guild] : contexts,
  };
}

function toOption(argument: NonNullable<CommandListing['argument']>, localize: Localize): CommandOption {
  const { name, description, about, required, choices = [], suggests } = argument;
  const fixed = choices.length > 0 && choices.length <= MAX_CHOICES;
  const choice = (value: string) => ({ name: clip(value, MAX_CHOICE), value: clip(value, MAX_CHOICE) });
  return {
    type: ApplicationCommandOptionType.String,
    name: optionName(name),
    description: clip(description, MAX_DESCRIPTION),
    ...described(localize(about)),
    required,
    ...(fixed && { choices: choices.map(choice) }),
    ...(!fixed && suggests && { autocomplete: true }),
  };
}

function described(texts: Localizations): Pick<DiscordCommand, 'description_localizations'> {
  return texts === undefined ? {} : { description_localizations: texts };
}

/** One name that Discord refuses would cost the whole list. */
function fittingNames(texts: Localizations): Localizations {
  return texts && Object.fromEntries(Object.entries(texts).filter(([, text]) => OPTION_NAME.test(text)));
}

function named(texts: Localizations): Pick<DiscordCommand, 'name_localizations'> {
  return texts === undefined ? {} : { name_localizations: texts };
}

/** An argument may have any name ("on or off"); Discord requires one lower-case word. */
function optionName(name: string): string {
  const word = name
    .toLowerCase()
    .replaceAll(/[^-_\p{Ll}\p{N}]+/gu, '-')
    .slice(0, MAX_NAME);
  return OPTION_NAME.test(word) ? word : 'value';
}

const Application = z.object({ integration_types_config: z.record(z.string(), z.unknown()).nullish() });

/**
 * Kinds of installation that the app is configured for (`GET /applications/@me`): Discord refuses commands for any
 * other.
 */
async function installationsOf(rest: DiscordRest, signal: AbortSignal): Promise<number[]> {
  const answer = await rest.call({ method: 'get', path: '/applications/@me', bucket: 'application', signal });
  const set = Object.keys(Application.safeParse(answer).data?.integration_types_config ?? {});
  const known = [ApplicationIntegrationType.GuildInstall, ApplicationIntegrationType.UserInstall];
  const found = known.filter((kind) => set.includes(String(kind)));
  return found.length === 0 ? [ApplicationIntegrationType.GuildInstall] : found;
}

/** Commands that are only useful in servers are not part of a person's installation. */
function installed(command: DiscordCommand, installations: readonly number[]): DiscordCommand {
  // The first context stands for servers.
  const isOfServers = command.contexts.length === 1;
  const kinds = isOfServers ? [ApplicationIntegrationType.GuildInstall] : [...installations];
  return { ...command, integration_types: kinds };
}

/** Registers the commands for every server and private chat, if they differ. Throws `ChannelError`. */
export async function registerCommands(
  rest: DiscordRest,
  applicationId: string,
  commands: readonly DiscordCommand[],
  signal: AbortSignal,
): Promise<void> {
  const path = `/applications/${applicationId}/commands` as const;
  const query = new URLSearchParams({ with_localizations: 'true' });
  const installations = await installationsOf(rest, signal);
  const wanted = commands.map((command) => installed(command, installations));
  const there = await rest.call({ method: 'get', path, bucket: 'commands', query, signal });
  if (listAsRegistered(there) === listAsRegistered(wanted)) return;
  await rest.call({ method: 'put', path, bucket: 'commands', body: wanted, signal });
}

/** Creates it; cuts each text at `most` characters, which is Discord's limit for it. */
function localizeBy(languages: Languages, most: number): Localize {
  const codes = languages.codes().filter((code) => code !== 'en');
  const says = LOCALES.flatMap((locale): [string, Say][] => {
    const code = bestLanguage(locale, codes);
    return code === undefined ? [] : [[locale, languages.say({ language: code, channel: 'discord' })]];
  });
  return (key) =>
    key === undefined || says.length === 0
      ? undefined
      : Object.fromEntries(says.map(([locale, say]) => [locale, clip(say(key), most)]));
}

/** A text cut to as many characters as Discord accepts. */
function clip(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`.toWellFormed();
}
