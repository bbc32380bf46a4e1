/** The REST calls of the fake Discord, each as strict as the platform's: a table of method, path and effect. */
import { componentsOf } from './components.ts';
import { contentOf, flagsOf, invalidForm, pingsOf } from './form.ts';
import {
  channelJson,
  FLAG_EPHEMERAL,
  FLAG_LOADING,
  FLAG_SUPPRESS_EMBEDS,
  messageJson,
  Refusal,
} from './platform.ts';
import type { FakeInteraction, FakeMessage, DiscordPlatform } from './platform.ts';

export interface Call {
  platform: DiscordPlatform;
  ids: string[];
  query: URLSearchParams;
  /** The JSON that came; `body` are its fields when it is an object. */
  json: unknown;
  body: Record<string, unknown>;
  gatewayUrl: string;
  startsLeft: number;
}

/** A route's answer: JSON with status 200, or nothing with 204. */
type Effect = (call: Call) => object | undefined;

export interface Route {
  method: string;
  /** `:id` stands for a snowflake, `:token` for an interaction's token. */
  path: string;
  /** Calls with an interaction token in their path need no bot token. */
  open?: boolean;
  effect: Effect;
}

const MAX_NONCE = 25;
const INTERACTION_ANSWER_MS = 3_000;
const INTERACTION_TOKEN_MS = 15 * 60_000;

export const ROUTES: Route[] = [
  { method: 'GET', path: '/users/@me', effect: ({ platform }) => botJson(platform) },
  {
    method: 'GET',
    path: '/applications/@me',
    effect: ({ platform }) => ({ id: platform.applicationId, name: 'Parley' }),
  },
  {
    method: 'GET',
    path: '/gateway/bot',
    effect: ({ gatewayUrl, startsLeft }) => ({
      url: gatewayUrl,
      shards: 1,
      session_start_limit: {
        total: 1_000,
        remaining: startsLeft,
        reset_after: 86_400_000,
        max_concurrency: 1,
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
  { method: 'POST', path: '/channels/:id/messages', effect: createMessage },
  { method: 'PATCH', path: '/channels/:id/messages/:id', effect: editMessage },
  {
    method: 'POST',
    path: '/channels/:id/typing',
    effect: ({ platform, ids: [id = ''] }) => {
      platform.writable(id);
      return undefined;
    },
  },
  { method: 'POST', path: '/users/@me/channels', effect: openDm },
  { method: 'POST', path: '/interactions/:id/:token/callback', open: true, effect: answerInteraction },
  {
    method: 'GET',
    path: '/webhooks/:id/:token/messages/@original',
    open: true,
    effect: (call) => messageJson(original(call)),
  },
  { method: 'PATCH', path: '/webhooks/:id/:token/messages/@original', open: true, effect: editOriginal },
  { method: 'POST', path: '/webhooks/:id/:token', open: true, effect: followUp },
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

function createMessage({ platform, ids: [channelId = ''], body }: Call): object {
  platform.writable(channelId);
  const content = contentOf(body);
  const flags = flagsOf(body, FLAG_SUPPRESS_EMBEDS);
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
  platform.writable(channelId);
  const message = platform.message(channelId, id);
  if (message.author.id !== platform.bot.id)
    throw new Refusal(403, 50_005, 'Cannot edit a message authored by another user');
  if (message.onlyFor !== undefined) throw new Refusal(404, 10_008, 'Unknown Message');
  flagsOf(body, FLAG_SUPPRESS_EMBEDS);
  const buttons = componentsOf(body);
  platform.change(message, contentOf(body));
  message.buttons = buttons ?? message.buttons;
  message.pings.push(...pingsOf(message.content, body));
  return messageJson(message);
}

function history({ platform, ids: [channelId = ''], query }: Call): object {
  platform.channel(channelId);
  const limit = Number(query.get('limit') ?? 50);
  if (!(limit >= 1 && limit <= 100))
    throw invalidForm('limit', 'NUMBER_TYPE_MAX', 'int value should be less than or equal to 100.');
  const after = BigInt(query.get('after') ?? 0);
  const visible = (platform.messages.get(channelId) ?? []).filter((message) => message.onlyFor === undefined);
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
    const name = 'name' in fields ? fields.name : undefined;
    if (typeof name !== 'string' || !/^[-_\p{Ll}\p{N}]{1,32}$/u.test(name))
      throw invalidForm('name', 'APPLICATION_COMMAND_INVALID_NAME', 'Command name is invalid');
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

function answerInteraction({ platform, ids: [id = ''], body }: Call): undefined {
  const interaction = [...platform.interactions.values()].find((one) => one.id === id);
  if (interaction === undefined) throw new Refusal(404, 10_062, 'Unknown interaction');
  if (interaction.message !== undefined)
    throw new Refusal(400, 40_060, 'Interaction has already been acknowledged.');
  if (platform.now() - interaction.at > INTERACTION_ANSWER_MS)
    throw new Refusal(404, 10_062, 'Unknown interaction');
  const data: Record<string, unknown> = typeof body.data === 'object' ? { ...body.data } : {};
  componentsOf(data);
  const flags = flagsOf(data, FLAG_EPHEMERAL | FLAG_SUPPRESS_EMBEDS);
  // Only a press can be acknowledged silently (6), or by changing the message with the button (7).
  if (body.type === 6 && interaction.under !== undefined) {
    interaction.message = interaction.under;
    return undefined;
  }
  if (body.type !== 4 && body.type !== 5)
    throw invalidForm('type', 'BASE_TYPE_CHOICES', 'Value must be one of (4, 5).');
  interaction.message = speak(platform, interaction, body.type === 5 ? '' : contentOf(data), {
    flags: body.type === 5 ? flags | FLAG_LOADING : flags,
    pings: pingsOf(typeof data.content === 'string' ? data.content : '', data),
  });
  return undefined;
}

/** A message of the bot through an interaction's webhook. */
function speak(
  platform: DiscordPlatform,
  interaction: FakeInteraction,
  content: string,
  more: Partial<FakeMessage> & { flags: number },
): FakeMessage {
  const hidden = (more.flags & FLAG_EPHEMERAL) !== 0;
  return platform.add(interaction.channelId, platform.bot, content, {
    ...more,
    type: 20,
    webhookId: platform.applicationId,
    ...(hidden ? { onlyFor: interaction.user.id } : {}),
  });
}

/** The interaction behind a webhook call, while its token lives. */
function alive({ platform, ids: [, token = ''] }: Call): FakeInteraction {
  const interaction = platform.interactions.get(token);
  if (interaction?.message === undefined) throw new Refusal(404, 10_015, 'Unknown Webhook');
  if (platform.now() - interaction.at > INTERACTION_TOKEN_MS)
    throw new Refusal(401, 50_027, 'Invalid Webhook Token');
  return interaction;
}

function original(call: Call): FakeMessage {
  const { message } = alive(call);
  if (message === undefined) throw new Refusal(404, 10_008, 'Unknown Message');
  return message;
}

function editOriginal(call: Call): object {
  const message = original(call);
  flagsOf(call.body, FLAG_SUPPRESS_EMBEDS);
  call.platform.change(message, contentOf(call.body));
  message.pings.push(...pingsOf(message.content, call.body));
  return messageJson(message);
}

function followUp(call: Call): object {
  const flags = flagsOf(call.body, FLAG_EPHEMERAL | FLAG_SUPPRESS_EMBEDS);
  const content = contentOf(call.body);
  return messageJson(
    speak(call.platform, alive(call), content, { flags, pings: pingsOf(content, call.body) }),
  );
}
