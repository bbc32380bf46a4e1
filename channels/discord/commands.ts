/** The slash commands people see, and their registration: Discord counts overwrites, so an unchanged list is left alone. */
import { ApplicationCommandOptionType, InteractionContextType } from 'discord.js';
import { z } from 'zod';
import type { CommandListing } from '../../src/contracts/command.ts';
import type { DiscordRest } from './rest.ts';

/** Discord's limits: commands of one application, characters of a name and of a description. */
const MAX_COMMANDS = 100;
const MAX_NAME = 32;
const NAME = /^[-_a-z0-9]{1,32}$/;
const MAX_DESCRIPTION = 100;
/** What Discord takes as the name of an option. */
const OPTION_NAME = /^[-_\p{Ll}\p{N}]{1,32}$/u;

/** A slash command as Discord registers it. */
export interface SlashCommand {
  name: string;
  description: string;
  options: { type: number; name: string; description: string; required: boolean }[];
  /** Where it can be used: in servers and in direct messages with the bot. */
  contexts: number[];
}

const contexts = [InteractionContextType.Guild, InteractionContextType.BotDM];

/** Discord's own way to write a message: everything else in the list is the gateway's. */
const ASK: SlashCommand = {
  name: 'ask',
  description: 'Ask something; the answer grows right here',
  options: [
    {
      type: ApplicationCommandOptionType.String,
      name: 'prompt',
      description: 'What you want to know or have done',
      required: true,
    },
    {
      type: ApplicationCommandOptionType.Attachment,
      name: 'file',
      description: 'A picture, a document or a recording that belongs to it',
      required: false,
    },
  ],
  contexts,
};

/** `/ask` and the gateway's commands, within Discord's limits: one thing it refuses would cost the whole list. */
export function toSlashCommands(commands: readonly CommandListing[]): SlashCommand[] {
  const fitting = commands.filter(({ name }) => name !== ASK.name && NAME.test(name));
  return [ASK, ...fitting.map(toSlashCommand)].slice(0, MAX_COMMANDS);
}

function toSlashCommand({ name, description, argument }: CommandListing): SlashCommand {
  const type = ApplicationCommandOptionType.String;
  const options =
    argument === undefined
      ? []
      : [
          {
            type,
            name: optionName(argument.name),
            description: clip(argument.description),
            required: argument.required,
          },
        ];
  return { name, description: clip(description), options, contexts };
}

/** An argument may be called anything ("on or off"); Discord wants one lower-case word. */
function optionName(name: string): string {
  const word = name
    .toLowerCase()
    .replaceAll(/[^-_\p{Ll}\p{N}]+/gu, '-')
    .slice(0, MAX_NAME);
  return OPTION_NAME.test(word) ? word : 'value';
}

function clip(text: string): string {
  return text.length <= MAX_DESCRIPTION ? text : `${text.slice(0, MAX_DESCRIPTION - 1)}…`.toWellFormed();
}

/** What a registered command shows of itself; Discord adds fields and leaves out empty ones. */
const Registered = z.array(
  z.object({
    name: z.string(),
    description: z.string(),
    options: z
      .array(
        z.object({
          type: z.number(),
          name: z.string(),
          description: z.string(),
          required: z.boolean().default(false),
        }),
      )
      .default([]),
    contexts: z.array(z.number()).nullish(),
  }),
);

/** Registers the commands for every server and direct message, if they differ. Throws `ChannelError`. */
export async function registerCommands(
  rest: DiscordRest,
  applicationId: string,
  commands: readonly SlashCommand[],
  signal: AbortSignal,
): Promise<void> {
  const path = `/applications/${applicationId}/commands` as const;
  const there = Registered.safeParse(await rest.call({ method: 'get', path, bucket: 'commands', signal }));
  if (there.success && fingerprint(there.data) === fingerprint(commands)) return;
  await rest.call({ method: 'put', path, bucket: 'commands', body: commands, signal });
}

function fingerprint(list: z.infer<typeof Registered> | readonly SlashCommand[]): string {
  const lines = list.map(({ name, description, options, contexts: where }) =>
    JSON.stringify([
      name,
      description,
      options.map((one) => [one.type, one.name, one.description, one.required]),
      where,
    ]),
  );
  return lines.sort().join('\n');
}
