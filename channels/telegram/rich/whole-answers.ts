/** Whole answers as rich messages: which ones benefit, and in which chats Telegram accepts them. */
import type { ChatSettingStore, Rendered, WholeText } from '../../../src/protocol/channel.ts';
import { toGatewayError } from '../../../src/protocol/errors.ts';
import type { Log } from '../../../src/protocol/log.ts';
import { addressOf, type Place } from '../../../src/protocol/message.ts';
import { takeOutFormulas } from '../../../src/lib/markdown/math-text.ts';
import { toRichMessage } from './rich-message.ts';

/** How long a chat that refused a rich message gets normal messages. */
const REFUSED_MS = 24 * 3_600_000;

/** What Telegram refuses separately, and the names under which the refusal is stored. */
export type RichKind = 'rich_messages' | 'rich_drafts';

/** A document without any of these has no table, formula, task or details, and need not be parsed. */
const MAY_GAIN = /\||\[[ x]\]|\\[([]|\$[^\s$]|\$\$|<details/i;

export interface WholeAnswersDeps {
  mode: 'auto' | 'off';
  /** Longest normal message. */
  maxLength: number;
  chatSettings: ChatSettingStore;
  log: Log;
}

export class WholeAnswers {
  readonly #deps: WholeAnswersDeps;

  constructor(deps: WholeAnswersDeps) {
    this.#deps = deps;
  }

  /** The answer as one rich message; undefined if a normal one does as well, and where Telegram accepts none. Never throws. */
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

  /** Records that Telegram has refused one there. Never throws. */
  async noteRefusal(place: Place, kind: RichKind): Promise<void> {
    await this.#try(() => this.#deps.chatSettings.setChatSetting(chatOf(place), kind, 'refused', REFUSED_MS));
  }

  /** Cheap enough to check a growing text once a second. */
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
