/** The commands that people see, and their registration: Discord counts overwrites, so an unchanged list is left alone. */
import { isDeepStrictEqual } from 'node:util';
import {
  ApplicationCommandOptionType,
  ApplicationCommandType,
  ApplicationIntegrationType,
  InteractionContextType,
  Locale,
  PermissionFlagsBits,
  Routes,
} from 'discord.js';
import { z } from 'zod';
import type { CommandListing } from '../../../src/protocol/command.ts';
import { bestLanguage, type Languages } from '../../../src/protocol/texts/languages.ts';
import { inEnglish, type PlainKey, type Say } from '../../../src/protocol/texts/say.ts';
import { clipEnd } from '../../../src/lib/text.ts';
import type { DiscordRest } from '../rest.ts';

/** Every language of Discord's except English, which everyone who reads none of these gets. */
const LOCALES = Object.values(Locale).filter((locale) => !locale.startsWith('en-'));

/** A text in some of them. */
type Texts = Record<string, string>;

/** Returns a text in all of them; undefined if there is none. */
type Localize = (key: PlainKey | undefined) => Texts | undefined;

/** Discord's limits: commands of one application, characters of a name and of a description, choices of an option. */
const MAX_COMMANDS = 100;
const MAX_NAME = 32;
const NAME = /^[-_a-z0-9]{1,32}$/;
const MAX_DESCRIPTION = 100;
const MAX_CHOICE = 100;
const MAX_CHOICES = 25;
const OPTION_NAME = /^[-_\p{Ll}\p{N}]{1,32}$/u;

const Localizations = z
  .record(z.string(), z.string())
  .nullish()
  .transform((texts) => texts ?? {});

const CommandOption = z.object({
  type: z.number(),
  name: z.string(),
  description: z.string(),
  description_localizations: Localizations,
  required: z.boolean().default(false),
  choices: z.array(z.object({ name: z.string(), value: z.unknown() })).default([]),
  /** Discord requests suggestions while it is typed. */
  autocomplete: z.boolean().default(false),
});
type CommandOption = z.input<typeof CommandOption>;

/** A command as Discord registers it: Discord returns more fields, and omits empty ones. */
const DiscordCommand = z.object({
  type: z.number().default(ApplicationCommandType.ChatInput),
  name: z.string(),
  name_localizations: Localizations,
  /** Empty for a command on a message. */
  description: z.string().default(''),
  description_localizations: Localizations,
  options: z.array(CommandOption).default([]),
  /** Who sees it in a server, unless the server's settings say otherwise: a set of permissions. */
  default_member_permissions: z.string().nullish().default(null),
  /** Where it can be used: in servers, in private with the bot, and in other people's chats. */
  contexts: z.array(z.number()).nullish().default(null),
  /** Who may have installed the app for that: a server, a person; set when the list is registered. */
  integration_types: z.array(z.number()).nullish().default(null),
});
export type DiscordCommand = z.input<typeof DiscordCommand> & {
  description: string;
  options: CommandOption[];
  contexts: InteractionContextType[];
};

const { Guild, BotDM, PrivateChannel } = InteractionContextType;
const contexts = [Guild, BotDM, PrivateChannel];

/** Discord's own way to write a message: everything else in the list comes from the gateway. */
const ASK = 'ask';

function askCommand(localize: Localize): DiscordCommand {
  return {
    type: ApplicationCommandType.ChatInput,
    name: ASK,
    name_localizations: validNames(localize('menu.ask')),
    description: inEnglish('about.ask'),
    description_localizations: localize('about.ask'),
    options: [
      {
        type: ApplicationCommandOptionType.String,
        name: 'prompt',
        description: inEnglish('argument.ask_prompt'),
        description_localizations: localize('argument.ask_prompt'),
        required: true,
      },
      {
        type: ApplicationCommandOptionType.Attachment,
        name: 'file',
        description: inEnglish('argument.ask_file'),
        description_localizations: localize('argument.ask_file'),
        required: false,
      },
    ],
    contexts,
  };
}

/** Commands in the menu of a message (*Apps*), by the names under which Discord sends them back. */
export const ASK_ABOUT = inEnglish('menu.ask_about');
export const SUMMARISE = inEnglish('menu.summarise');

function messageCommand(name: string, texts: Texts | undefined): DiscordCommand {
  const type = ApplicationCommandType.Message;
  return { type, name, name_localizations: texts, description: '', options: [], contexts };
}

/** The commands on messages, `/ask`, and the gateway's commands, within Discord's limits: one refused command would cost the whole list. */
export function toDiscordCommands(
  commands: readonly CommandListing[],
  languages: Languages,
): DiscordCommand[] {
  const localize = localizeBy(languages, MAX_DESCRIPTION);
  const localizeName = localizeBy(languages, MAX_NAME);
  const valid = commands.filter(({ name }) => name !== ASK && NAME.test(name));
  const slash = [askCommand(localize), ...valid.map((one) => toSlashCommand(one, localize))];
  return [
    ...slash.slice(0, MAX_COMMANDS),
    messageCommand(ASK_ABOUT, localizeName('menu.ask_about')),
    messageCommand(SUMMARISE, localizeName('menu.summarise')),
  ];
}

function toSlashCommand(command: CommandListing, localize: Localize): DiscordCommand {
  const { name, description, about, argument, place, owners } = command;
  return {
    type: ApplicationCommandType.ChatInput,
    name,
    description: clipEnd(description, MAX_DESCRIPTION),
    description_localizations: localize(about),
    options: argument === undefined ? [] : [toOption(argument, localize)],
    // The gateway checks its own owners; this only hides the command from everyone else's menus.
    default_member_permissions: owners ? String(PermissionFlagsBits.ManageGuild) : undefined,
    contexts: place === 'group' ? [Guild] : contexts,
  };
}

function toOption(argument: NonNullable<CommandListing['argument']>, localize: Localize): CommandOption {
  const { name, description, about, required, choices = [], suggests } = argument;
  const isFixed = choices.length > 0 && choices.length <= MAX_CHOICES;
  const choice = (value: string) => ({ name: clipEnd(value, MAX_CHOICE), value: clipEnd(value, MAX_CHOICE) });
  return {
    type: ApplicationCommandOptionType.String,
    name: optionName(name),
    description: clipEnd(description, MAX_DESCRIPTION),
    description_localizations: localize(about),
    required,
    choices: isFixed ? choices.map(choice) : undefined,
    autocomplete: (!isFixed && suggests) || undefined,
  };
}

/** One name that Discord refuses would cost the whole list. */
function validNames(texts: Texts | undefined): Texts | undefined {
  return texts && Object.fromEntries(Object.entries(texts).filter(([, text]) => OPTION_NAME.test(text)));
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

/** Kinds of installation that the app is configured for: Discord refuses commands for any other. */
async function installationsOf(
  rest: DiscordRest,
  signal: AbortSignal,
): Promise<ApplicationIntegrationType[]> {
  const { GuildInstall, UserInstall } = ApplicationIntegrationType;
  const answer = await rest.get(Routes.currentApplication(), 'application', signal);
  const configured = Application.safeParse(answer).data?.integration_types_config ?? {};
  const kinds = [GuildInstall, UserInstall].filter((kind) => kind in configured);
  return kinds.length === 0 ? [GuildInstall] : kinds;
}

/** Registers the commands for every server and private chat, if they differ. Throws `ChannelError`. */
export async function registerCommands(
  rest: DiscordRest,
  applicationId: string,
  commands: readonly DiscordCommand[],
  signal: AbortSignal,
): Promise<void> {
  const path = Routes.applicationCommands(applicationId);
  const query = new URLSearchParams({ with_localizations: 'true' });
  const installations = await installationsOf(rest, signal);
  const body = commands.map((command) => ({
    ...command,
    // Commands that are only useful in servers are not part of a person's installation.
    integration_types:
      command.contexts.length === 1 ? [ApplicationIntegrationType.GuildInstall] : installations,
  }));
  const registered = await rest.call({ method: 'get', path, bucket: 'commands', query, signal });
  if (isSameList(registered, body)) return;
  await rest.call({ method: 'put', path, bucket: 'commands', body, signal });
}

/** True if registering one list in place of the other changes nothing. */
function isSameList(registered: unknown, body: readonly DiscordCommand[]): boolean {
  const [old, next] = [registered, body].map((list) =>
    z
      .array(DiscordCommand)
      .safeParse(list)
      .data?.toSorted((a, b) => a.type - b.type || (a.name < b.name ? -1 : 1)),
  );
  return isDeepStrictEqual(old, next);
}

/** Cuts each text at `most` characters, which is Discord's limit for it. */
function localizeBy(languages: Languages, most: number): Localize {
  const codes = languages.codes().filter((code) => code !== 'en');
  const says = LOCALES.flatMap((locale): [string, Say][] => {
    const code = bestLanguage(locale, codes);
    return code === undefined ? [] : [[locale, languages.say({ language: code, channel: 'discord' })]];
  });
  return (key) =>
    key === undefined || says.length === 0
      ? undefined
      : Object.fromEntries(says.map(([locale, say]) => [locale, clipEnd(say(key), most)]));
}
