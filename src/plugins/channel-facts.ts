/** A plug-in's channel as the gateway knows it before its code runs. */
import { z } from 'zod';
import { type Capabilities, type ChannelManifest, defineChannel } from '../protocol/channel.ts';
import { usualCapabilities } from '../protocol/channel-settings.ts';
import type { RateLimits } from '../protocol/delivery.ts';
import type { PluginChannelFacts, PluginManifest, PluginSetting } from '../protocol/plugin.ts';
import { isVariable } from './manifest.ts';

/** The schema of one setting; its value is optional, because the plug-in may be off. */
export function schemaOfSetting({ type = 'text', description, default: usual }: PluginSetting): z.ZodType {
  const checked: z.ZodType = {
    text: z.string().max(10_000),
    number: z.coerce.number(),
    boolean: z.union([z.boolean(), z.enum(['true', 'false']).transform((value) => value === 'true')]),
    url: z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }),
  }[type];
  const schema: z.ZodType = usual === undefined ? checked.optional() : checked.default(usual);
  return schema.describe(description);
}

/** The schemas of its variables, or of its fields in `plugins.<name>` of `config.json`. */
export function schemasOfSettings(
  { settings = [] }: PluginManifest,
  kind: 'variables' | 'fields',
): Record<string, z.ZodType> {
  const settingsOfKind = settings.filter(({ name }) => isVariable(name) === (kind === 'variables'));
  return Object.fromEntries(settingsOfKind.map((setting) => [setting.name, schemaOfSetting(setting)]));
}

/** The manifest of its channel; undefined for a plug-in without one. */
export function channelManifestOf(plugin: PluginManifest): ChannelManifest | undefined {
  const { name, label, channel, settings = [] } = plugin;
  if (channel === undefined) return undefined;
  const { needs, tokenPage, ids, commandMark = '/', secretShapes = [] } = channel;
  const variables = settings.filter((setting) => isVariable(setting.name));
  const others = variables.filter((one) => one.required === true && one.name !== needs);
  const secrets = variables.filter(({ secret }) => secret === true).map((setting) => setting.name);
  const isPrivate = ids.privateChat === undefined ? undefined : new RegExp(ids.privateChat);
  return defineChannel({
    name,
    label,
    needs,
    ...(tokenPage !== undefined && { tokenPage }),
    ...(others.length > 0 && {
      alsoNeeds: Object.fromEntries(others.map((one) => [one.name, one.description])),
    }),
    writeCommand: (command) => commandMark + command,
    env: z.object(schemasOfSettings(plugin, 'variables')),
    settings: z.strictObject({}),
    ids: {
      userId: new RegExp(ids.user),
      chatId: new RegExp(ids.chat),
      description: ids.description,
      ...(isPrivate && { privacyOf: (chatId: string) => (isPrivate.test(chatId) ? 'private' : 'group') }),
      ...(ids.chatIsUser === true && { privateChatOf: (userId: string) => userId }),
    },
    secretShapes: secretShapes.map((shape) => ({ pattern: new RegExp(shape), replacement: '[secret]' })),
    isOn: (env) => env[needs] !== undefined,
    secrets: (env) => secrets.map((variable) => textOf(env[variable])),
    async create(_configured, deps) {
      if (deps.openPlugin === undefined) throw new TypeError('only a gateway opens the channel of a plug-in');
      return await deps.openPlugin(name, deps);
    },
  });
}

/** A value as it may occur in a log line. */
function textOf(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

/** What the channel can do. */
export function capabilitiesOf({ capabilities, rates }: PluginChannelFacts): Capabilities {
  const { maxLength, edit = false, reactions = [], maxFileBytes = 0 } = capabilities;
  return usualCapabilities({
    edit,
    delete: capabilities.delete ?? false,
    stream: edit ? 'edit' : 'off',
    buttons: capabilities.buttons ?? false,
    answerButtons: capabilities.answerButtons,
    threads: capabilities.threads ?? false,
    typingMs: capabilities.typingMs ?? 0,
    maxFileBytes,
    maxCaption: maxFileBytes === 0 ? 0 : (capabilities.maxCaption ?? maxLength),
    reactsIn: { private: reactions.includes('private'), group: reactions.includes('group') },
    maxLength,
    // Answers that do not grow have no interval.
    rates: ratesOf({ ...rates, editIntervalMs: edit ? rates.editIntervalMs : 0 }),
  });
}

function ratesOf({ callsPerSecond, editIntervalMs, perChat }: PluginChannelFacts['rates']): RateLimits {
  return {
    callsPerSecond: { start: callsPerSecond, most: callsPerSecond },
    of: ({ chatId }) => ({
      key: chatId,
      editIntervalMs,
      burst: Math.min(2, perChat?.calls ?? 2),
      reserved: perChat?.calls === 1 ? 0 : 1,
      countsForBot: true,
      window: perChat,
    }),
  };
}
