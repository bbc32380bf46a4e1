/**
 * What users do besides writing and pressing: they react, edit, use the menu of a message, type commands and fill in
 * forms.
 */
import type { FakeDiscord } from './discord.ts';
import { INTENT } from './gateway/gateway-frames.ts';
import { messageJson, personJson } from './json.ts';
import type { FakeChannel, FakeInteraction, FakeMessage, FakePerson } from './platform.ts';

/** A person gives a message a reaction. */
export function reacts(discord: FakeDiscord, message: FakeMessage, from: FakePerson, emoji: string): void {
  const channel = discord.platform.channel(message.channelId);
  const isPrivate = channel.type === 1;
  discord.gateway.dispatch(
    'MESSAGE_REACTION_ADD',
    isPrivate ? INTENT.directMessageReactions : INTENT.guildMessageReactions,
    () => ({
      user_id: from.id,
      channel_id: channel.id,
      message_id: message.id,
      message_author_id: message.author.id,
      emoji: { id: null, name: emoji },
      burst: false,
      type: 0,
      ...(isPrivate
        ? {}
        : { guild_id: channel.guildId, member: { user: personJson(from), roles: from.roles ?? [] } }),
    }),
    channel.guildId,
  );
}

/** A user edits one of their own messages. */
export function edits(discord: FakeDiscord, message: FakeMessage, text: string): void {
  discord.platform.change(message, text);
  message.editedAt = discord.platform.now();
  changed(discord, message);
}

/** Messages of one channel are deleted, several of them in bulk. */
export function deletes(discord: FakeDiscord, ...messages: readonly [FakeMessage, ...FakeMessage[]]): void {
  const channel = discord.platform.channel(messages[0].channelId);
  const { id: channelId, guildId } = channel;
  const known = discord.platform.messages.get(channelId) ?? [];
  for (const message of messages) known.splice(known.indexOf(message), 1);
  const ids = messages.map(({ id }) => id);
  const place = { channel_id: channelId, ...(channel.type !== 1 && { guild_id: guildId }) };
  discord.gateway.dispatch(
    ids.length === 1 ? 'MESSAGE_DELETE' : 'MESSAGE_DELETE_BULK',
    channel.type === 1 ? INTENT.directMessages : INTENT.guildMessages,
    () => (ids.length === 1 ? { id: ids[0], ...place } : { ids, ...place }),
    guildId,
  );
}

/** A message has changed without an edit, as when Discord adds the preview of a link. */
export function changed(discord: FakeDiscord, message: FakeMessage): void {
  const channel = discord.platform.channel(message.channelId);
  const isPrivate = channel.type === 1;
  const intent = isPrivate ? INTENT.directMessages : INTENT.guildMessages;
  discord.gateway.dispatch(
    'MESSAGE_UPDATE',
    intent,
    (intents) => ({
      ...messageJson(message),
      ...(isPrivate || (intents & INTENT.messageContent) !== 0 ? {} : { content: '', attachments: [] }),
      ...(isPrivate ? {} : { guild_id: channel.guildId, channel_type: channel.type }),
    }),
    channel.guildId,
  );
}

/** A user runs a command in the menu of a message; returns its interaction. */
export function onMessage(
  discord: FakeDiscord,
  message: FakeMessage,
  name: string,
  from: FakePerson,
): FakeInteraction {
  const { platform } = discord;
  const interaction = platform.addInteraction(message.channelId, from, 2);
  const resolved = { messages: { [message.id]: messageJson(message) } };
  const data = { id: platform.newId(), name, type: 3, target_id: message.id, resolved };
  discord.interact(platform.channel(message.channelId), interaction, { type: 2, data });
  return interaction;
}

/** A user types the option of a command; returns the interaction, which gets suggestions. */
export function types(
  discord: FakeDiscord,
  channel: FakeChannel,
  command: string,
  option: { name: string; value: string },
  from: FakePerson,
): FakeInteraction {
  const interaction = discord.platform.addInteraction(channel.id, from, 4);
  const options = [{ ...option, type: 3, focused: true }];
  const data = { id: discord.platform.newId(), name: command, type: 1, options };
  discord.interact(channel, interaction, { type: 4, data });
  return interaction;
}

/** A user submits the form that an interaction has shown, with these fields changed; returns the new interaction. */
export function fillsIn(
  discord: FakeDiscord,
  shown: FakeInteraction,
  fields: Record<string, string>,
  files: readonly { id: string; filename: string; url: string; content_type: string; size: number }[] = [],
): FakeInteraction {
  const { modal, channelId, user, under } = shown;
  if (modal === undefined) throw new Error('no form is shown');
  const sent = discord.platform.addInteraction(channelId, user, 5, under);
  const components = modal.fields.map(({ name, value }, id) => ({
    type: 18,
    id,
    component: { type: 4, id: 100 + id, custom_id: name, value: fields[name] ?? value },
  }));
  const message = under === undefined ? {} : { message: messageJson(under) };
  if (files.length > (modal.files?.most ?? 0)) throw new Error('the form takes no such files');
  const upload = { type: 19, id: 99, custom_id: modal.files?.name, values: files.map(({ id }) => id) };
  const resolved = { attachments: Object.fromEntries(files.map((one) => [one.id, one])) };
  const data = {
    custom_id: modal.customId,
    components:
      modal.files === undefined ? components : [...components, { type: 18, id: 98, component: upload }],
    ...(files.length > 0 && { resolved }),
  };
  discord.interact(discord.platform.channel(channelId), sent, { type: 5, data, ...message });
  return sent;
}

/** A user chooses from the newest menu that they see. */
export function chooses(discord: FakeDiscord, channel: FakeChannel, value: string, from: FakePerson): void {
  const message = discord.visible(channel, from).findLast(({ select }) => select !== undefined);
  if (message?.select?.values.includes(value) !== true) throw new Error(`"${value}" cannot be chosen`);
  const data = { component_type: 3, id: 2, custom_id: message.select.customId, values: [value] };
  const interaction = discord.platform.addInteraction(channel.id, from, 3, message);
  discord.interact(channel, interaction, { type: 3, message: messageJson(message), data });
}
