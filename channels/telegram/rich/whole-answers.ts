/** Whole answers as rich messages: which gain by it, and in which chats Telegram takes them. */
import type { Rendered, WholeText } from '../../../src/contracts/channel.ts';
import { toGatewayError } from '../../../src/contracts/errors.ts';
import type { Log } from '../../../src/contracts/log.ts';
import { addressOf } from '../../../src/contracts/message.ts';
import type { Place } from '../../../src/contracts/message.ts';
import type { ChatSettingStore } from '../../../src/contracts/store/chat-settings.ts';
import { takeOutFormulas } from '../../../src/lib/markdown/math-text.ts';
import { toRichMessage } from './rich-message.ts';

/** A chat whose rich messages were refused gets messages of the usual kind for this long. */
const REFUSED_MS = 24 * 3_600_000;

/** What Telegram refuses apart, and the names under which that is kept. */
export type RichKind = 'rich_messages' | 'rich_drafts';

/** A document without any of these has no table, formula, task or details, and need not be read. */
const MAY_GAIN = /\||\[[ x]\]|\\[([]|\$\$|<details/i;

export interface WholeAnswersDeps {
  mode: 'auto' | 'off';
  /** Longest message of the usual kind. */
  maxLength: number;
  chatSettings: ChatSettingStore;
  log: Log;
}

export class WholeAnswers {
  readonly #deps: WholeAnswersDeps;

  constructor(deps: WholeAnswersDeps) {
    this.#deps = deps;
  }

  /** The answer as one rich message; undefined where one of the usual kind does as well, and where none is taken. Never throws. */
  async render(place: Place, whole: WholeText): Promise<Rendered | undefined> {
    if (this.#deps.mode === 'off' || !this.#mayGain(whole.markdown)) return undefined;
    const { markdown, formulas } = takeOutFormulas(whole.markdown);
    const rich = toRichMessage(await whole.documentOf(markdown), formulas);
    if (rich === undefined || (!rich.gains && rich.plain.length <= this.#deps.maxLength)) return undefined;
    if (await this.#isRefused(place, 'rich_messages')) return undefined;
    if (whole.grows === true && (await this.#isRefused(place, 'rich_drafts'))) return undefined;
    const { message, plain } = rich;
    return { text: JSON.stringify(message), plain, length: plain.length, rich: true };
  }

  /** Telegram has refused one there. Never throws. */
  async noteRefusal(place: Place, kind: RichKind): Promise<void> {
    await this.#try(() => this.#deps.chatSettings.setChatSetting(chatOf(place), kind, 'refused', REFUSED_MS));
  }

  /** Cheap, so that a growing text can be asked about once a second. */
  #mayGain(markdown: string): boolean {
    return markdown.length > this.#deps.maxLength || MAY_GAIN.test(markdown);
  }

  async #isRefused(place: Place, kind: RichKind): Promise<boolean> {
    const kept = await this.#try(() => this.#deps.chatSettings.chatSetting(chatOf(place), kind));
    return kept !== undefined;
  }

  async #try<Result>(call: () => Promise<Result>): Promise<Result | undefined> {
    try {
      return await call();
    } catch (error) {
      this.#deps.log.warn({ err: toGatewayError(error) }, 'rich_messages_unknown');
      return undefined;
    }
  }
}

function chatOf({ channel, chatId }: Place): string {
  return addressOf({ channel, chatId });
}
