/** A command as the fake Discord registers it: refused for everything that Discord refuses. */
import { invalidForm } from '../form.ts';

const SLASH_NAME = /^[-_\p{Ll}\p{N}]{1,32}$/u;
const LOCALES = ['de', 'en-GB', 'en-US', 'fr', 'es-ES'];

/** Throws 50035 for a command that Discord does not accept. */
export function checkCommand(command: Record<string, unknown>, installations: readonly number[]): void {
  const { type = 1, name, description, options, contexts, default_member_permissions: permissions } = command;
  const isSlash = type === 1;
  const fits = (value: unknown): boolean =>
    typeof value === 'string' && (isSlash ? SLASH_NAME.test(value) : value.length >= 1 && value.length <= 32);
  if (!isSlash && type !== 3)
    throw invalidForm('type', 'BASE_TYPE_CHOICES', 'Value must be one of (1, 2, 3, 4).');
  if (!fits(name)) throw invalidForm('name', 'APPLICATION_COMMAND_INVALID_NAME', 'Command name is invalid');
  localized(command.name_localizations, fits);
  describe(description, isSlash ? 1 : 0, isSlash ? 100 : 0);
  localized(command.description_localizations, (text) => described(text, 1, 100));
  const list: unknown[] = Array.isArray(options) ? options : [];
  if (list.length > 25 || (!isSlash && list.length > 0))
    throw invalidForm('options', 'BASE_TYPE_BAD_LENGTH', 'Must be 25 or fewer in length.');
  for (const option of list) checkOption({ ...(typeof option === 'object' ? option : {}) });
  if (
    contexts !== undefined &&
    !(Array.isArray(contexts) && contexts.every((one) => [0, 1, 2].includes(one)))
  )
    throw invalidForm('contexts', 'BASE_TYPE_CHOICES', 'Value must be one of (0, 1, 2).');
  const { integration_types: types } = command;
  if (types !== undefined && !(Array.isArray(types) && types.every((one) => installations.includes(one))))
    throw invalidForm('integration_types', 'APPLICATION_COMMAND_INVALID_INTEGRATION_TYPE', 'Not supported.');
  if (permissions !== undefined && !(typeof permissions === 'string' && /^\d+$/.test(permissions)))
    throw invalidForm('default_member_permissions', 'BASE_TYPE_CHOICES', 'Value is no set of permissions.');
}

function checkOption(option: Record<string, unknown>): void {
  const { name, description, choices, autocomplete } = option;
  if (typeof name !== 'string' || !SLASH_NAME.test(name))
    throw invalidForm('name', 'APPLICATION_COMMAND_INVALID_NAME', 'Option name is invalid');
  describe(description, 1, 100);
  localized(option.description_localizations, (text) => described(text, 1, 100));
  const list: unknown[] = Array.isArray(choices) ? choices : [];
  if (list.length > 25)
    throw invalidForm('choices', 'BASE_TYPE_BAD_LENGTH', 'Must be 25 or fewer in length.');
  if (autocomplete === true && list.length > 0)
    throw invalidForm('autocomplete', 'APPLICATION_COMMAND_OPTIONS_AUTOCOMPLETE', 'Has choices, too.');
}

function describe(text: unknown, least: number, most: number): void {
  if (!described(text, least, most))
    throw invalidForm(
      'description',
      'BASE_TYPE_BAD_LENGTH',
      `Must be between ${least} and ${most} in length.`,
    );
}

function described(text: unknown, least: number, most: number): boolean {
  return typeof text === 'string' && text.length >= least && text.length <= most;
}

function localized(texts: unknown, fits: (text: unknown) => boolean): void {
  if (texts === undefined || texts === null) return;
  for (const [locale, text] of Object.entries(texts))
    if (!LOCALES.includes(locale) || !fits(text))
      throw invalidForm('localizations', 'BASE_TYPE_CHOICES', `Invalid text for ${locale}.`);
}
