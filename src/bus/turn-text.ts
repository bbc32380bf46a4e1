/** The text a turn has said so far, put together from its deltas so that a late reader can be given all of it. */
import type { EventBody } from '../contracts/event.ts';

/** The text of one model call, as far as no other call's came in between. */
interface CallText {
  msgId: string;
  /** Joined when the text is asked for: a delta costs one array slot, not one string node. */
  parts: string[];
}

/** As long as the stored text, which the model's own limits bound. */
export class TurnText {
  /** What had been said before the first delta seen here. */
  #base: string;
  #calls: CallText[] = [];

  constructor(base = '') {
    this.#base = base;
  }

  get base(): string {
    return this.#base;
  }

  /** Applies one event of the turn's own agent; a subagent's text is not the turn's. */
  apply(body: EventBody): void {
    if (body.type === 'stream_chunk') {
      const last = this.#calls.at(-1);
      if (last?.msgId === body.msgId) last.parts.push(body.delta);
      else this.#calls.push({ msgId: body.msgId, parts: [body.delta] });
    } else if (body.type === 'stream_reset') {
      this.#calls = this.#calls.filter((call) => call.msgId !== body.msgId);
    } else if (body.type === 'snapshot') {
      this.#base = body.text;
      this.#calls = [];
    }
  }

  /** Joins what has come since the last time, so that no delta is kept by itself for long. */
  compact(): void {
    for (const call of this.#calls) if (call.parts.length > 1) call.parts = [call.parts.join('')];
  }

  /** The base and all deltas of model calls that were not reset, in the order they came. */
  toString(): string {
    this.compact();
    return this.#base + this.#calls.map((call) => call.parts[0] ?? '').join('');
  }
}
