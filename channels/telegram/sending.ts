/** Sends, edits and deletes messages, and remembers what Telegram refuses and which sends may have arrived unnoticed. */
import type { Channel, OutboundPart } from '../../src/protocol/channel.ts';
import { ChannelError } from '../../src/protocol/errors.ts';
import type { Place, SentMessage } from '../../src/protocol/message.ts';
import type { BotApi } from './api/bot-api.ts';
import type { TelegramLostSends } from './api/lost-sends.ts';
import { type HiddenMessages, visible } from './hidden-messages.ts';
import type { RichKind, WholeAnswers } from './rich/whole-answers.ts';

interface SendingParts {
  bot: BotApi;
  hidden: HiddenMessages;
  whole: WholeAnswers;
  lostSends: TelegramLostSends;
}

type Sending = Required<Pick<Channel, 'send' | 'sendFile' | 'edit' | 'delete' | 'draft'>>;

/** Makes the calls that put messages on screen. They throw only `ChannelError`. */
export function createSending({ bot, hidden, whole, lostSends }: SendingParts): Sending {
  /** Remembers where Telegram refuses rich messages, and throws the error again. */
  async function noteRefusal(
    part: Place & Pick<OutboundPart, 'body'>,
    error: unknown,
    kind: RichKind = 'rich_messages',
  ): Promise<never> {
    const isRefusal = error instanceof ChannelError && ['rejected', 'bad_markup'].includes(error.code);
    if (part.body.rich === true && isRefusal) await whole.noteRefusal(part, kind);
    throw error;
  }

  /** Sends to everyone, and remembers which parts may be on screen without a known id. */
  async function sendNoting(part: OutboundPart): Promise<SentMessage> {
    const { chatId, nonce } = part;
    const after = lostSends.newest(chatId);
    try {
      const sent = await bot.send(visible(part));
      lostSends.note(chatId, sent.id);
      return sent;
    } catch (error) {
      if (error instanceof ChannelError && error.code === 'outcome_unknown')
        lostSends.add(nonce, { chatId, after });
      return await noteRefusal(part, error);
    }
  }

  return {
    send: async (part) => (await hidden.send(part)) ?? (await sendNoting(part)),
    sendFile: async (file) => {
      const sent = await bot.sendFile(file);
      lostSends.note(file.chatId, sent.id);
      return sent;
    },
    edit: async (sent, part) => {
      if (await hidden.edit(sent, part)) return sent;
      await bot.edit(sent, part).catch((error: unknown) => noteRefusal(part, error));
      return sent;
    },
    delete: async (sent, place) => {
      if (!(await hidden.delete(sent, place))) await bot.delete(sent, place);
    },
    draft: (place, turnId, body, plain) =>
      bot
        .draft(place, turnId, { body, plain })
        .catch((error: unknown) => noteRefusal({ ...place, body }, error, 'rich_drafts')),
  };
}
