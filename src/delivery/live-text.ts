/** The text of a running turn, put together from its events. */
import type { Rendered } from '../contracts/channel.ts';
import type { AgentEvent } from '../contracts/event.ts';
import { Activity } from './activity.ts';
import { SLICE_CHARS, MessageChunker } from './text/chunker.ts';
import type { RenderTarget } from './text/cut.ts';

/** Past this many UTF-16 units a reply stops growing on screen; its end comes with the final delivery. */
export const MAX_LIVE_TEXT = 1_048_576;

/** Longest notice below a growing reply: it ends with what to do. */
const MAX_NOTICE = 400;

/** Collects deltas without looking at them; parses only when asked for the messages. */
export class LiveText {
  readonly #sheet: RenderTarget;
  #pages: MessageChunker;
  /** Text by model call, so that one call can be taken back. */
  #calls: { msgId: string; text: string }[];
  #length: number;
  /** Text the pages have not seen yet. */
  #fresh: string;
  #notice: string | undefined;
  readonly #activity = new Activity();

  constructor(sheet: RenderTarget, textSoFar: string) {
    this.#sheet = sheet;
    this.#pages = new MessageChunker(sheet);
    this.#calls = [{ msgId: '', text: textSoFar }];
    this.#length = textSoFar.length;
    this.#fresh = textSoFar;
  }

  /** Takes one event of the turn; true when there may be something new to see. `now` is a steady clock's, in milliseconds. */
  take(event: AgentEvent, now: number): boolean {
    const moved = this.#activity.take(event, now);
    return event.isSubagent === true ? moved : this.#takeWords(event) || moved;
  }

  /** When a line about what the turn does will appear by itself. */
  nextAt(now: number): number | undefined {
    return this.#activity.nextAt(now);
  }

  #takeWords(event: AgentEvent): boolean {
    switch (event.type) {
      case 'stream_chunk':
        return this.#append(event.msgId, event.delta);
      case 'stream_reset':
        return this.#reset(this.#calls.filter((call) => call.msgId !== event.msgId));
      case 'snapshot':
        return this.#reset([{ msgId: '', text: event.text }]);
      case 'notice':
        this.#notice = `ℹ ${event.text}`.slice(0, MAX_NOTICE).toWellFormed();
        return true;
      case 'tool_call':
        this.#notice = undefined;
        return true;
      default:
        return false;
    }
  }

  /** Brings the messages up to date: the settled ones, and the open ones as they look now. */
  async pages(
    yieldToEventLoop: () => Promise<void>,
    now: number,
  ): Promise<{ settled: MessageChunker; open: Rendered[] }> {
    while (this.#fresh !== '') {
      const bite = this.#fresh.slice(0, SLICE_CHARS);
      this.#fresh = this.#fresh.slice(SLICE_CHARS);
      this.#pages.push(bite);
      if (this.#fresh !== '') await yieldToEventLoop();
    }
    const below = [this.#notice, this.#activity.lines(now)].filter((line) => line !== undefined);
    return {
      settled: this.#pages,
      open: this.#pages.open(below.length === 0 ? undefined : below.join('\n')),
    };
  }

  #append(msgId: string, delta: string): boolean {
    if (this.#length + delta.length > MAX_LIVE_TEXT) return false;
    const last = this.#calls.at(-1);
    if (last?.msgId === msgId) last.text += delta;
    else this.#calls.push({ msgId, text: delta });
    this.#length += delta.length;
    this.#fresh += delta;
    this.#notice = undefined;
    return true;
  }

  #reset(calls: { msgId: string; text: string }[]): boolean {
    this.#calls = calls;
    this.#fresh = calls
      .map((call) => call.text)
      .join('')
      .slice(0, MAX_LIVE_TEXT);
    this.#length = this.#fresh.length;
    this.#pages = new MessageChunker(this.#sheet);
    return true;
  }
}
