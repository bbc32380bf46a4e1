/** The REST calls of the fake Discord, each as strict as the platform's: a table of method, path and effect. */
import { checkCommand } from './interactions/command-form.ts';
import { componentsOf } from './interactions/components.ts';
import { captionOf, editedOf, flagsOf, invalidForm, pingsOf } from './form.ts';
import { GUILD_ROUTES } from './guild.ts';
import { channelJson, messageJson } from './json.ts';
import { type DiscordPlatform, type FakeMessage, FLAG_SUPPRESS_EMBEDS, Refusal } from './platform.ts';
import { INTERACTION_ROUTES } from './interactions/interaction-routes.ts';
import type { Call, Route } from './route.ts';
import { THREAD_ROUTES } from './threads.ts';
import { attachmentsOf, FLAG_VOICE_MESSAGE } from './uploads.ts';

const MAX_NONCE = 25;

export const ROUTES: Route[] = [
  { method: 'GET', path: '/users/@me', effect: ({ platform }) => botJson(platform) },
  {
    method: 'GET',
    path: '/applications/@me',
    effect: ({ platform, applicationFlags: flags }) => ({
      id: platform.applicationId,
      name: 'Parley',
      flags,
      verify_key: platform.endpoint.verifyKey,
      integration_types_config: Object.fromEntries(platform.installations.map((kind) => [kind, {}])),
    }),
  },
  {
    method: 'GET',
    path: '/gateway/bot',
    effect: ({ gatewayUrl, startsLeft, shards, maxConcurrency }) => ({
      url: gatewayUrl,
      shards,
      session_start_limit: {
        total: 1_000,
        remaining: Math.max(0, startsLeft),
        reset_after: 86_400_000,
        max_concurrency: maxConcurrency,
      },
    }),
  },
  { method: 'GET', path: '/applications/:id/commands', effect: ({ platform }) => platform.commands },
  { method: 'PUT', path: '/applications/:id/commands', effect: overwriteCommands },
  {
    method: 'GET',
    path: '/channels/:id',
    effect: ({ platform, ids: [id = ''] }) => channelJson(platform.channel(id)),
  },
  { method: 'GET', path: '/channels/:id/messages', effect: history },
  {
    method: 'GET',
    path: '/channels/:id/messages/:id',
    effect: ({ platform, ids: [channelId = '', id = ''] }) => messageJson(platform.message(channelId, id)),
  },
  { method: 'POST', path: '/channels/:id/messages', effect: createMessage },
  { method: 'PATCH', path: '/channels/:id/messages/:id', effect: editMessage },
  { method: 'DELETE', path: '/channels/:id/messages/:id', effect: deleteMessage },
  {
    method: 'POST',
    path: '/channels/:id/typing',
    effect: ({ platform, ids: [id = ''] }) => {
      platform.writable(id);
      return undefined;
    },
  },
  { method: 'PUT', path: '/channels/:id/messages/:id/reactions/:emoji/@me', effect: react },
  { method: 'DELETE', path: '/channels/:id/messages/:id/reactions/:emoji/@me', effect: takeReaction },
  { method: 'POST', path: '/users/@me/channels', effect: openDm },
  ...INTERACTION_ROUTES,
  ...THREAD_ROUTES,
  ...GUILD_ROUTES,
];

function botJson({ bot }: DiscordPlatform): object {
  return {
    id: bot.id,
    username: 'parley',
    global_name: bot.name,
    discriminator: '0',
    avatar: null,
    bot: true,
  };
}

function createMessage({ platform, ids: [channelId = ''], body, files }: Call): object {
  const content = captionOf(body, files.size > 0);
  platform.accepts(channelId, content);
  const flags = flagsOf(body, FLAG_SUPPRESS_EMBEDS | FLAG_VOICE_MESSAGE);
  const { nonce } = body;
  if (nonce !== undefined && (typeof nonce !== 'string' || nonce.length > MAX_NONCE))
    throw invalidForm('nonce', 'NONCE_TYPE_TOO_LONG', `Must be ${MAX_NONCE} or fewer in length.`);
  if (nonce !== undefined && body.enforce_nonce === true) {
    const earlier = platform.byNonce(channelId, nonce);
    if (earlier !== undefined) return messageJson(earlier);
  }
  const replyTo = referenced(platform, channelId, body.message_reference);
  const message = platform.add(channelId, platform.bot, content, {
    flags,
    attachments: attachmentsOf(platform, body, files),
    files: [...files.values()],
    buttons: componentsOf(body) ?? [],
    pings: pingsOf(content, body),
    ...(replyTo === undefined ? {} : { replyTo }),
  });
  if (nonce !== undefined) platform.rememberNonce(channelId, nonce, message);
  return { ...messageJson(message), nonce };
}

function referenced(
  platform: DiscordPlatform,
  channelId: string,
  reference: unknown,
): FakeMessage | undefined {
  if (reference === undefined) return undefined;
  if (typeof reference !== 'object' || reference === null || !('message_id' in reference))
    throw invalidForm('message_reference', 'BASE_TYPE_REQUIRED', 'This field is required');
  try {
    return platform.message(channelId, String(reference.message_id));
  } catch (error) {
    if ('fail_if_not_exists' in reference && reference.fail_if_not_exists === false) return undefined;
    if (error instanceof Refusal)
      throw invalidForm('message_reference', 'MESSAGE_REFERENCE_UNKNOWN_MESSAGE', 'Unknown message');
    throw error;
  }
}

function editMessage({ platform, ids: [channelId = '', id = ''], body }: Call): object {
  const message = platform.message(channelId, id);
  const content = editedOf(body, message);
  platform.accepts(channelId, content);
  if (message.author.id !== platform.bot.id)
    throw new Refusal(403, 50_005, 'Cannot edit a message authored by another user');
  if (message.onlyFor !== undefined) throw new Refusal(404, 10_008, 'Unknown Message');
  flagsOf(body, FLAG_SUPPRESS_EMBEDS);
  const buttons = componentsOf(body);
  platform.allowEdit(message);
  if (body.content !== undefined) platform.change(message, content);
  message.buttons = buttons ?? message.buttons;
  message.pings.push(...pingsOf(message.content, body));
  return messageJson(message);
}

function deleteMessage({ platform, ids: [channelId = '', id = ''] }: Call): undefined {
  platform.channel(channelId);
  const message = platform.message(channelId, id);
  if (message.author.id !== platform.bot.id) throw new Refusal(403, 50_013, 'Missing Permissions');
  if (message.onlyFor !== undefined) throw new Refusal(404, 10_008, 'Unknown Message');
  platform.remove(message);
  return undefined;
}

function react({ platform, ids: [channelId = '', id = '', emoji = ''] }: Call): undefined {
  if (platform.channel(channelId).noReactions === true) throw new Refusal(403, 50_013, 'Missing Permissions');
  const { reactions } = platform.message(channelId, id);
  const name = decodeURIComponent(emoji);
  if (!/^\p{Extended_Pictographic}/u.test(name)) throw new Refusal(400, 10_014, 'Unknown Emoji');
  if (!reactions.includes(name)) reactions.push(name);
  return undefined;
}

function takeReaction({ platform, ids: [channelId = '', id = '', emoji = ''] }: Call): undefined {
  const message = platform.message(channelId, id);
  const name = decodeURIComponent(emoji);
  if (!message.reactions.includes(name)) throw new Refusal(404, 10_014, 'Unknown Emoji');
  message.reactions = message.reactions.filter((other) => other !== name);
  return undefined;
}

function history({ platform, ids: [channelId = ''], query }: Call): object {
  const { unreadable, isGuest } = platform.channel(channelId);
  if (unreadable === true || isGuest === true) throw new Refusal(403, 50_001, 'Missing Access');
  const limit = Number(query.get('limit') ?? 50);
  if (!(limit >= 1 && limit <= 100))
    throw invalidForm('limit', 'NUMBER_TYPE_MAX', 'int value should be less than or equal to 100.');
  const after = BigInt(query.get('after') ?? 0);
  const before = query.get('before');
  const visible = (platform.messages.get(channelId) ?? []).filter(
    (message) => message.onlyFor === undefined && (before === null || BigInt(message.id) < BigInt(before)),
  );
  const later = visible.filter((message) => BigInt(message.id) > after);
  const page = query.has('after') ? later.slice(0, limit) : later.slice(-limit);
  return page.toReversed().map(messageJson);
}

function openDm({ platform, body }: Call): object {
  if (typeof body.recipient_id !== 'string')
    throw invalidForm('recipient_id', 'BASE_TYPE_REQUIRED', 'This field is required');
  const channel = platform.addChannel(1);
  return { id: channel.id, type: 1, recipients: [{ id: body.recipient_id }] };
}

function overwriteCommands({ platform, json }: Call): object {
  if (!Array.isArray(json)) throw invalidForm('_misc', 'LIST_TYPE_CONVERT', 'Only iterables may be used.');
  const commands: unknown[] = json;
  platform.commands = commands.map((command) => {
    const fields = typeof command === 'object' && command !== null ? command : {};
    checkCommand({ ...fields }, platform.installations);
    return {
      type: 1,
      ...fields,
      id: platform.newId(),
      application_id: platform.applicationId,
      version: platform.newId(),
    };
  });
  platform.commandWrites += 1;
  return platform.commands;
}
