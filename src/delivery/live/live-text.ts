/** The text of a running turn, assembled from its events. */
import type { Rendered } from '../../protocol/channel.ts';
import type { AgentEvent } from '../../protocol/event.ts';
import { Activity } from './activity.ts';
import { MessageChunker, SLICE_CHARS, yieldToEventLoop } from '../text/chunker.ts';
import { closeOpenMarkup } from '../text/open-end.ts';
import type { RenderTarget } from '../text/cut.ts';
import { inEnglish, type Say } from '../../protocol/texts/say.ts';

/** Beyond this many UTF-16 units a reply stops growing on screen; its end comes with the final delivery. */
export const MAX_LIVE_TEXT = 1_048_576;

/** A first message has this many UTF-16 units, or a sentence: its notification shows no more than that. */
const FIRST_CHARS = 30;

/** A first message is sent this long after the first token regardless of its length, in milliseconds. */
export const FIRST_AFTER_MS = 700;

/** The end of a sentence, with something after it; not the period after a list number. */
const SENTENCE = /\p{L}["'»”)]?[.!?…]+\s|[。！？]/u;

/** The beginning of what may be a table is held back for this long while nothing follows it, in milliseconds. */
export const HOLD_MS = 1_000;

/** Longest notice below a growing reply, in UTF-16 units. */
const MAX_NOTICE = 400;

/** One message of the text whose current state the chat does not show. */
export interface OutdatedChunk {
  index: number;
  chunk: Rendered;
  more: boolean;
}

/** Collects deltas without parsing them; parses only when asked which message is outdated. */
export class LiveText {
  readonly #target: RenderTarget;
  #chunker: MessageChunker;
  /** Text by model call, so that a call can be withdrawn; without `#deltas`. */
  #calls: { msgId: string; text: string }[];
  /** Deltas of the last call since the messages were requested: a token costs one array slot. */
  #deltas: string[] = [];
  #length: number;
  /** Text that the chunker does not have yet; without `#deltas`. */
  #unread: string;
  /** Messages below this index are settled and shown: they are never compared again. */
  #firstOpen = 0;
  #notice: string | undefined;
  /** Monotonic time at which there was text for the first time. */
  #firstTextAt: number | undefined;
  readonly #activity: Activity;
  #holds: boolean;
  /** Length of the text when it was last seen to have grown, and when that was. */
  #growth = { length: 0, atMs: 0 };

  constructor(target: RenderTarget, textSoFar: string, say: Say = inEnglish) {
    this.#activity = new Activity(say);
    this.#target = target;
    this.#chunker = new MessageChunker(target);
    this.#calls = [{ msgId: '', text: textSoFar }];
    this.#length = textSoFar.length;
    this.#unread = textSoFar;
    this.#holds = textSoFar.includes('|');
  }

  /** Shows the model's thinking below the text, until the text continues. */
  showThinking(): void {
    this.#activity.showsThinking = true;
  }

  /** Applies one event of the turn; true if the messages may look different now, or later. `nowMs` is monotonic. */
  apply(event: AgentEvent, nowMs: number): boolean {
    const hasNewLines = this.#activity.apply(event, nowMs);
    if (event.isSubagent === true) return hasNewLines;
    switch (event.type) {
      case 'stream_chunk':
        // Beyond that length the reply stops growing.
        if (this.#length + event.delta.length > MAX_LIVE_TEXT) return hasNewLines;
        if (this.#calls.at(-1)?.msgId !== event.msgId) {
          this.#joinDeltas();
          this.#calls.push({ msgId: event.msgId, text: '' });
        }
        this.#deltas.push(event.delta);
        this.#length += event.delta.length;
        this.#holds ||= event.delta.includes('|');
        this.#notice = undefined;
        return true;
      case 'stream_reset':
        this.#joinDeltas();
        return this.#restart(this.#calls.filter((call) => call.msgId !== event.msgId));
      case 'snapshot':
        return this.#restart([{ msgId: '', text: event.text }]);
      case 'stream_end':
        // What was held back is shown now.
        this.#growth = { length: this.#length, atMs: Number.NEGATIVE_INFINITY };
        return hasNewLines || this.#holds;
      case 'notice':
        this.#notice = `ℹ ${event.text}`.slice(0, MAX_NOTICE).toWellFormed();
        return true;
      case 'tool_call':
        this.#notice = undefined;
        return true;
      default:
        return hasNewLines;
    }
  }

  /** Monotonic time from which there is enough for a first message; undefined while there is nothing to show. */
  firstMessageAt(nowMs: number): number | undefined {
    if (this.#notice !== undefined || this.#activity.lines(nowMs) !== undefined) return nowMs;
    if (this.#length === 0) return undefined;
    this.#firstTextAt ??= nowMs;
    if (this.#length >= FIRST_CHARS) return nowMs;
    const text = [...this.#calls.map((call) => call.text), ...this.#deltas].join('');
    return SENTENCE.test(text) ? nowMs : this.#firstTextAt + FIRST_AFTER_MS;
  }

  /** When the text may change without an event (monotonic): a tool's or subagent's line, or text held back. */
  changesAt(nowMs: number): number | undefined {
    const line = this.#activity.nextLineAt(nowMs);
    return this.#holds ? Math.min(nowMs + HOLD_MS, line ?? Infinity) : line;
  }

  /**
   * The first message that the screen lacks or shows differently; undefined if there is none. Earlier messages get
   * their last text before later ones appear. `nowMs` is monotonic.
   */
  async nextOutdated(
    shownTexts: readonly (string | undefined)[],
    messageCount: number,
    nowMs: number,
  ): Promise<OutdatedChunk | undefined> {
    await this.#read(nowMs);
    const { settled } = this.#chunker;
    const open = this.#chunker.open(this.#footer(nowMs));
    for (let index = this.#firstOpen; ; index++) {
      const chunk = this.#chunker.at(index) ?? open[index - settled];
      if (chunk === undefined) return undefined;
      if (index >= messageCount || shownTexts[index] !== chunk.text)
        return { index, chunk, more: index + 1 < settled + open.length };
      if (index < settled) this.#firstOpen = index + 1;
    }
  }

  /** The newest message of the text; undefined while there is nothing to show. `nowMs` is monotonic. */
  async latest(nowMs: number): Promise<Rendered | undefined> {
    await this.#read(nowMs);
    const footer = this.#footer(nowMs);
    return this.#chunker.open(footer).at(-1) ?? this.#chunker.at(this.#chunker.settled - 1);
  }

  /** All of the text so far, with open markup closed, and what appears below it. `nowMs` is monotonic. */
  async whole(nowMs: number): Promise<{ markdown: string; footer: string | undefined }> {
    await this.#read(nowMs);
    const all = this.#calls.map((call) => call.text).join('');
    const text = all.slice(0, all.length - this.#chunker.held);
    return { markdown: this.#chunker.inCode ? text : closeOpenMarkup(text), footer: this.#footer(nowMs) };
  }

  #footer(nowMs: number): string | undefined {
    const lines = [this.#notice, this.#activity.lines(nowMs)].filter((line) => line !== undefined);
    return lines.length === 0 ? undefined : lines.join('\n');
  }

  /** Feeds the new text to the chunker in slices. Its end is held back only while the text grows. */
  async #read(nowMs: number): Promise<void> {
    this.#joinDeltas();
    while (this.#unread !== '') {
      this.#chunker.push(this.#unread.slice(0, SLICE_CHARS));
      this.#unread = this.#unread.slice(SLICE_CHARS);
      if (this.#unread === '') break;
      await yieldToEventLoop();
      this.#joinDeltas();
    }
    if (this.#length !== this.#growth.length) this.#growth = { length: this.#length, atMs: nowMs };
    else if (nowMs - this.#growth.atMs >= HOLD_MS) this.#chunker.release();
    this.#holds = this.#chunker.held > 0;
  }

  #joinDeltas(): void {
    const last = this.#calls.at(-1);
    if (this.#deltas.length === 0 || last === undefined) return;
    const text = this.#deltas.join('');
    this.#deltas = [];
    last.text += text;
    this.#unread += text;
  }

  #restart(calls: { msgId: string; text: string }[]): true {
    this.#deltas = [];
    this.#calls = calls;
    this.#unread = calls
      .map((call) => call.text)
      .join('')
      .slice(0, MAX_LIVE_TEXT);
    this.#length = this.#unread.length;
    this.#chunker = new MessageChunker(this.#target);
    this.#holds = this.#unread.includes('|');
    this.#firstOpen = 0;
    return true;
  }
}
