/** Messages in groups that one person sees (Bot API 10.2, ephemeral messages): who may send them, and who sees which. */
import type { FakeChats } from './chats.ts';
import { cleanVisible, readHtml } from './html.ts';
import { chatJson } from './json.ts';
import { badRequest, type Params, textOf } from './refusal.ts';
import type { FakeTelegram } from './telegram.ts';

/** A reply to a hidden message of a person is accepted for this long. */
const REPLY_MS = 15_000;

interface Hidden {
  id: number;
  chatId: string;
  receiver: string;
  text: string;
  /** Id of the person's hidden message that it answers. */
  answers?: number;
}

/** The answer of the first handler that knows a call. Throws the server's refusals. */
export function answeredBy(
  servants: readonly { call(method: string, params: Params): unknown }[],
  method: string,
  params: Params,
): unknown {
  for (const one of servants) {
    const said = one.call(method, params);
    if (said !== undefined) return said;
  }
  return undefined;
}

export class FakeHidden {
  readonly #chats: FakeChats;
  readonly #sent: Hidden[] = [];
  /** When people wrote their hidden messages, by id. */
  readonly #written = new Map<number, number>();
  #count = 0;

  constructor(chats: FakeChats) {
    this.#chats = chats;
  }

  /** What this person sees in a group in addition to what everyone sees. */
  seenBy(chatId: string, person: string): string[] {
    return this.#sent
      .filter((one) => one.chatId === chatId && one.receiver === person)
      .map(({ text }) => text);
  }

  /** A person's hidden message; returns its id. */
  written(): number {
    this.#count += 1;
    this.#written.set(this.#count, performance.now());
    return this.#count;
  }

  /** Answers the calls about them; undefined for any other. Throws the server's refusals. */
  call(method: string, params: Params): unknown {
    if (method === 'sendMessage' && params['ephemeral_message_parameters'] !== undefined)
      return this.#send(params);
    if (method === 'editEphemeralMessageText') {
      const hidden = this.#find(params);
      hidden.text = visibleOf(params);
      return true;
    }
    if (method === 'deleteEphemeralMessage') {
      this.#sent.splice(this.#sent.indexOf(this.#find(params)), 1);
      return true;
    }
    return undefined;
  }

  #send(params: Params): unknown {
    const chat = this.#chats.find(params['chat_id']);
    const { receiver_user_id: receiver } = params['ephemeral_message_parameters'] as Params;
    const { ephemeral_message_id: answers } = (params['reply_parameters'] ?? {}) as Params;
    if (chat.type === 'private') throw badRequest('ephemeral messages are only for groups');
    if (!/^\d+$/.test(textOf(receiver))) throw badRequest('invalid receiver_user_id specified');
    const at = this.#written.get(Number(answers));
    if (answers !== undefined && (at === undefined || performance.now() - at > REPLY_MS))
      throw badRequest('message to be replied not found');
    // Any other needs an administrator, or a press of a button.
    if (answers === undefined && chat.botIsAdmin !== true) throw badRequest('CHAT_ADMIN_REQUIRED');
    this.#count += 1;
    this.#sent.push({
      id: this.#count,
      chatId: chat.id,
      receiver: textOf(receiver),
      text: visibleOf(params),
      ...(answers !== undefined && { answers: Number(answers) }),
    });
    const about = { chat: chatJson(chat), date: Math.floor(Date.now() / 1_000) };
    return { message_id: 0, ephemeral_message_id: this.#count, ...about };
  }

  #find(params: Params): Hidden {
    const id = Number(params['ephemeral_message_id']);
    const hidden = this.#sent.find(
      (one) => one.id === id && one.receiver === textOf(params['receiver_user_id']),
    );
    if (hidden === undefined) throw badRequest('message to edit not found');
    return hidden;
  }
}

function visibleOf(params: Params): string {
  const text = textOf(params['text']);
  return cleanVisible(params['parse_mode'] === undefined ? { text, entities: [] } : readHtml(text)).text;
}

/** A person sends a hidden command, as their app does for those that the menu marks so; returns its id. */
export function saysHidden(fake: FakeTelegram, chatId: string, text: string, from: string): number {
  const id = fake.hidden.written();
  fake.update({
    message: {
      message_id: 0,
      ephemeral_message_id: id,
      date: Math.floor(Date.now() / 1_000),
      chat: chatJson(fake.chats.open(chatId)),
      from: { id: Number(from), is_bot: false, first_name: `Person ${from}` },
      text,
      entities: [{ type: 'bot_command', offset: 0, length: text.length }],
    },
  });
  return id;
}
