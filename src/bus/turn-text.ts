/** The text of a turn so far, joined from its deltas for readers that connect late. */
import type { EventBody } from '../contracts/event.ts';

/** Consecutive text of one model call. */
interface CallText {
  msgId: string;
  /** Deltas as they arrived, after pieces that were joined from earlier ones: a delta costs one array slot. */
  parts: string[];
  /** Number of parts that are joined pieces. */
  pieces: number;
}

/** The text grows to the length of the stored one, which is bounded by the model's limits. */
export class TurnText {
  /** Text from before the first delta received here. */
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
      else this.#calls.push({ msgId: body.msgId, parts: [body.delta], pieces: 0 });
    } else if (body.type === 'stream_reset') {
      this.#calls = this.#calls.filter((call) => call.msgId !== body.msgId);
    } else if (body.type === 'snapshot') {
      this.#base = body.text;
      this.#calls = [];
    }
  }

  /**
   * Joins what came since the last time to one piece: no delta is kept separately for long, and no text is copied
   * again.
   */
  compact(): void {
    for (const call of this.#calls) {
      if (call.parts.length - call.pieces > 1) call.parts.push(call.parts.splice(call.pieces).join(''));
      call.pieces = call.parts.length;
    }
  }

  /** The base and all deltas of model calls that were not reset, in order. */
  toString(): string {
    return this.#base + this.#calls.map((call) => call.parts.join('')).join('');
  }
}
