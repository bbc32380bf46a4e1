/** Compares lists of commands: Discord returns a registered command with more fields, and omits empty ones. Pure. */
import { z } from 'zod';

const Localizations = z.record(z.string(), z.string()).nullish();

const Registered = z.array(
  z.object({
    type: z.number().default(1),
    name: z.string(),
    name_localizations: Localizations,
    description: z.string().default(''),
    description_localizations: Localizations,
    options: z
      .array(
        z.object({
          type: z.number(),
          name: z.string(),
          description: z.string(),
          description_localizations: Localizations,
          required: z.boolean().default(false),
          choices: z.array(z.object({ name: z.string(), value: z.unknown() })).default([]),
          autocomplete: z.boolean().default(false),
        }),
      )
      .default([]),
    default_member_permissions: z.string().nullish(),
    contexts: z.array(z.number()).nullish(),
    integration_types: z.array(z.number()).nullish(),
  }),
);

/** Equal for two lists exactly if registering one in place of the other changes nothing; undefined for anything else. */
export function listAsRegistered(list: unknown): string | undefined {
  const { data } = Registered.safeParse(list);
  const lines = data?.map((command) =>
    JSON.stringify([
      command.type,
      command.name,
      ordered(command.name_localizations),
      command.description,
      ordered(command.description_localizations),
      command.options.map((one) => [
        one.type,
        one.name,
        one.description,
        ordered(one.description_localizations),
        one.required,
        one.choices,
        one.autocomplete,
      ]),
      command.default_member_permissions ?? null,
      command.contexts,
      command.integration_types ?? null,
    ]),
  );
  return lines?.sort().join('\n');
}

/** Equal for the same texts in any order. */
function ordered(texts: Record<string, string> | null | undefined): [string, string][] {
  return Object.entries(texts ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1));
}
