/** Reactions to messages, as `setMessageReaction` accepts them. */
import { assertWelcome, type FakeChats } from './chats.ts';
import { badRequest, type Params } from './refusal.ts';

/** The standard reactions (Bot API `ReactionTypeEmoji`). */
const KNOWN = new Set(
  '👍 👎 ❤ 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤‍🔥 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 👨‍💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷‍♂ 🤷 🤷‍♀ 😡'.split(
    ' ',
  ),
);

/** Sets the bot's reaction. Throws the server's refusals. */
export function setReaction(chats: FakeChats, params: Params): true {
  const chat = chats.find(params['chat_id']);
  assertWelcome(chat);
  const message = chat.messages.get(Number(params['message_id']));
  if (message === undefined) throw badRequest('message to react not found');
  const wanted = params['reaction'] ?? [];
  if (!Array.isArray(wanted)) throw badRequest("can't parse reaction types JSON object");
  if (wanted.length > 1) throw badRequest('REACTIONS_TOO_MANY');
  const [{ type, emoji } = { type: undefined, emoji: undefined }] = wanted as Params[];
  if (wanted.length === 0) {
    delete message.reaction;
    return true;
  }
  const allowed = chat.allowedReactions ?? [...KNOWN];
  if (type !== 'emoji' || typeof emoji !== 'string' || !KNOWN.has(emoji) || !allowed.includes(emoji))
    throw badRequest('REACTION_INVALID');
  message.reaction = emoji;
  (message.reactions ??= []).push(emoji);
  return true;
}
