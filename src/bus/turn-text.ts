/** The text a turn has said so far, put together from its deltas so that a late reader can be given all of it. */
import type { EventBody } from '../contracts/event.ts';

/** The text of one model call, as far as no other call's came in between. */
interface CallText {
  msgId: string;
  /** Deltas as they came, behind pieces that were joined from earlier ones: a delta costs one array slot. */
  parts: string[];
  /** Number of parts that are joined pieces. */
  pieces: number;
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
      else this.#calls.push({ msgId: body.msgId, parts: [body.delta], pieces: 0 });
    } else if (body.type === 'stream_reset') {
      this.#calls = this.#calls.filter((call) => call.msgId !== body.msgId);
    } else if (body.type === 'snapshot') {
      this.#base = body.text;
      this.#calls = [];
    }
  }

  /** Joins what came since the last time to one piece: no delta is kept by itself for long, and no text is copied again. */
  compact(): void {
    for (const call of this.#calls) {
      if (call.parts.length - call.pieces > 1) call.parts.push(call.parts.splice(call.pieces).join(''));
      call.pieces = call.parts.length;
    }
  }

  /** The base and all deltas of model calls that were not reset, in the order they came. */
  toString(): string {
    return this.#base + this.#calls.map((call) => call.parts.join('')).join('');
  }
}
