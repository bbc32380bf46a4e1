/**
 * Drafts of the fake Bot API: shown in private chats for 30 seconds, and until the bot sends a message (Bot API
 * `sendMessageDraft`).
 */
import { cleanVisible, readHtml } from './html.ts';
import { readRich } from './rich.ts';
import { badRequest, type Params, textOf } from './refusal.ts';
import { assertWelcome, type FakeChat, type FakeChats, threadOf } from './chats.ts';

/** How long a draft stays. */
const DRAFT_MS = 30_000;

const MAX_TEXT = 4_096;

/** A draft as its reader sees it; an empty text is shown as "Thinking…". */
export interface FakeDraft {
  draftId: number;
  text: string;
  canStop: boolean;
  threadId?: number;
  /** By `performance.now()`. */
  at: number;
  /** The rich structure, if it has one. */
  rich?: unknown;
}

export class FakeDrafts {
  /** Every draft of a chat, oldest first. */
  readonly #shown = new Map<string, FakeDraft[]>();
  readonly #chats: FakeChats;

  constructor(chats: FakeChats) {
    this.#chats = chats;
  }

  /** Everything that a chat has shown. */
  shown(chatId: string): readonly FakeDraft[] {
    return this.#shown.get(chatId) ?? [];
  }

  /** What the chat shows now; undefined once it was replaced or is over. */
  now(chatId: string): FakeDraft | undefined {
    const last = this.shown(chatId).at(-1);
    const repliedAt = [...(this.#chats.peek(chatId)?.messages.values() ?? [])].findLast(
      ({ fromBot }) => fromBot,
    )?.shownAt[0];
    if (last === undefined || performance.now() - last.at > DRAFT_MS) return undefined;
    return repliedAt !== undefined && repliedAt > last.at ? undefined : last;
  }

  /** One `sendMessageDraft` or `sendRichMessageDraft`. Throws the server's refusals. */
  show(params: Params): true {
    const rich = params['rich_message'];
    if (rich !== undefined) return this.add(params, { text: readRich(rich).text, rich });
    const source = textOf(params['text'] ?? '');
    if (!source.isWellFormed()) throw badRequest('strings must be encoded in UTF-8');
    const isHtml = textOf(params['parse_mode']).toLowerCase() === 'html';
    const { text } = cleanVisible(
      isHtml && source !== '' ? readHtml(source) : { text: source, entities: [] },
    );
    if (text.length > MAX_TEXT) throw badRequest('message is too long');
    return this.add(params, { text });
  }

  /** Checks what all kinds of drafts have in common, and shows one. */
  add(params: Params, draft: Pick<FakeDraft, 'text' | 'rich'>): true {
    const chat: FakeChat = this.#chats.find(params['chat_id']);
    assertWelcome(chat);
    if (chat.type !== 'private') throw badRequest('method is available only in private chats');
    const draftId = Number(params['draft_id']);
    if (!Number.isInteger(draftId) || draftId === 0) throw badRequest('invalid draft_id specified');
    const threadId = threadOf(chat, params, false);
    const drafts = this.#shown.get(chat.id) ?? [];
    drafts.push({
      draftId,
      ...draft,
      canStop: params['can_stop'] === true,
      ...(threadId === undefined ? {} : { threadId }),
      at: performance.now(),
    });
    this.#shown.set(chat.id, drafts);
    return true;
  }
}
