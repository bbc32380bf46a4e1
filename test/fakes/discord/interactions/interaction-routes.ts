/** The REST calls of the fake Discord for commands and presses: the first answer, and the replies reached by their token. */
import { componentsOf, selectOf } from './components.ts';
import { captionOf, contentOf, editedOf, flagsOf, invalidForm, pingsOf } from '../form.ts';
import { messageJson } from '../json.ts';
import {
  type DiscordPlatform,
  type FakeInteraction,
  type FakeMessage,
  FLAG_EPHEMERAL,
  FLAG_LOADING,
  FLAG_SUPPRESS_EMBEDS,
  Refusal,
} from '../platform.ts';
import { choicesIn, modalIn } from './modals.ts';
import type { Call, Route } from '../route.ts';
import { attachmentsOf } from '../uploads.ts';

const INTERACTION_ANSWER_MS = 3_000;
const AUTOCOMPLETE = 4;
const MODAL_SUBMIT = 5;
const INTERACTION_TOKEN_MS = 15 * 60_000;

export const INTERACTION_ROUTES: Route[] = [
  { method: 'POST', path: '/interactions/:id/:token/callback', open: true, effect: answerInteraction },
  {
    method: 'GET',
    path: '/webhooks/:id/:token/messages/@original',
    open: true,
    effect: (call) => messageJson(original(call)),
  },
  { method: 'PATCH', path: '/webhooks/:id/:token/messages/@original', open: true, effect: editReply },
  { method: 'DELETE', path: '/webhooks/:id/:token/messages/@original', open: true, effect: deleteReply },
  { method: 'PATCH', path: '/webhooks/:id/:token/messages/:id', open: true, effect: editReply },
  { method: 'DELETE', path: '/webhooks/:id/:token/messages/:id', open: true, effect: deleteReply },
  { method: 'POST', path: '/webhooks/:id/:token', open: true, effect: followUp },
];

function answerInteraction({ platform, ids: [id = ''], body }: Call): undefined {
  const interaction = [...platform.interactions.values()].find((one) => one.id === id);
  if (interaction === undefined) throw new Refusal(404, 10_062, 'Unknown interaction');
  if (interaction.answered === true)
    throw new Refusal(400, 40_060, 'Interaction has already been acknowledged.');
  if (platform.now() - interaction.at > INTERACTION_ANSWER_MS)
    throw new Refusal(404, 10_062, 'Unknown interaction');
  const data: Record<string, unknown> = typeof body.data === 'object' ? { ...body.data } : {};
  if (interaction.type === AUTOCOMPLETE || body.type === 8) {
    if (interaction.type !== AUTOCOMPLETE || body.type !== 8)
      throw invalidForm('type', 'BASE_TYPE_CHOICES', 'Value is not one of those allowed.');
    interaction.choices = choicesIn(data);
    interaction.answered = true;
    return undefined;
  }
  // A form cannot be answered with a form.
  if (body.type === 9 && interaction.type !== MODAL_SUBMIT) {
    interaction.modal = modalIn(data);
    interaction.answered = true;
    return undefined;
  }
  interaction.answered = true;
  componentsOf(data);
  const select = selectOf(data);
  const flags = flagsOf(data, FLAG_EPHEMERAL | FLAG_SUPPRESS_EMBEDS);
  // Only a press can be acknowledged silently (6), or by changing the message with the button (7).
  if (body.type === 6 && interaction.under !== undefined) {
    interaction.message = interaction.under;
    return undefined;
  }
  if (body.type === 7 && interaction.under !== undefined) {
    interaction.message = interaction.under;
    platform.change(interaction.under, contentOf(data));
    interaction.under.select = select;
    return undefined;
  }
  if (body.type !== 4 && body.type !== 5)
    throw invalidForm('type', 'BASE_TYPE_CHOICES', 'Value must be one of (4, 5).');
  interaction.message = speak(platform, interaction, body.type === 5 ? '' : contentOf(data), {
    flags: body.type === 5 ? flags | FLAG_LOADING : flags,
    select,
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

/** The interaction behind a webhook call, while its token is valid. */
function alive({ platform, ids: [, token = ''] }: Call): FakeInteraction {
  const interaction = platform.interactions.get(token);
  if (interaction?.message === undefined) throw new Refusal(404, 10_015, 'Unknown Webhook');
  if (platform.now() - interaction.at > INTERACTION_TOKEN_MS)
    throw new Refusal(401, 50_027, 'Invalid Webhook Token');
  return interaction;
}

function original(call: Call): FakeMessage {
  const { message } = alive(call);
  if (message === undefined || call.platform.isRemoved(message))
    throw new Refusal(404, 10_008, 'Unknown Message');
  return message;
}

/** The reply that a call names: the first one, or a later one of the same command. */
function replyOf(call: Call): FakeMessage {
  const id = call.ids[2];
  if (id === undefined) return original(call);
  const { channelId, replies } = alive(call);
  if (!replies.includes(id)) throw new Refusal(404, 10_008, 'Unknown Message');
  return call.platform.message(channelId, id);
}

function editReply(call: Call): object {
  const message = replyOf(call);
  flagsOf(call.body, FLAG_SUPPRESS_EMBEDS);
  const buttons = componentsOf(call.body);
  const content = editedOf(call.body, message);
  call.platform.permits(message.channelId, content);
  if (call.body.content !== undefined) call.platform.change(message, content);
  message.buttons = buttons ?? message.buttons;
  message.pings.push(...pingsOf(message.content, call.body));
  return messageJson(message);
}

function deleteReply(call: Call): undefined {
  call.platform.remove(replyOf(call));
  return undefined;
}

function followUp(call: Call): object {
  const { platform, files } = call;
  const flags = flagsOf(call.body, FLAG_EPHEMERAL | FLAG_SUPPRESS_EMBEDS);
  const content = captionOf(call.body, files.size > 0);
  const interaction = alive(call);
  platform.permits(interaction.channelId, content);
  const buttons = componentsOf(call.body) ?? [];
  const pings = pingsOf(content, call.body);
  const attachments = attachmentsOf(platform, call.body, files);
  const more = { flags, buttons, pings, attachments, files: [...files.values()] };
  const message = speak(platform, interaction, content, more);
  interaction.replies.push(message.id);
  return messageJson(message);
}
