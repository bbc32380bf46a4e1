/** The text a turn has said so far, kept from its deltas so that a late reader can be given all of it. */
import type { EventBody } from '../contracts/event.ts';

/** Deltas are joined in runs of this many: a token costs one array slot, not one string node. */
const RUN = 256;

interface Stretch {
  msgId: string;
  joined: string;
  deltas: string[];
}

/** As long as the stored text, which the model's own limits bound. */
export class TurnText {
  /** What had been said before the first delta seen here. */
  #base: string;
  #stretches: Stretch[] = [];

  constructor(base = '') {
    this.#base = base;
  }

  get base(): string {
    return this.#base;
  }

  /** Follows one event of the turn's own agent; a subagent's text is not the turn's. */
  take(body: EventBody): void {
    if (body.type === 'stream_chunk') this.#append(body.msgId, body.delta);
    else if (body.type === 'stream_reset') {
      this.#stretches = this.#stretches.filter((stretch) => stretch.msgId !== body.msgId);
    } else if (body.type === 'snapshot') {
      this.#base = body.text;
      this.#stretches = [];
    }
  }

  /** The base and all deltas of model calls that were not reset, in the order they came. */
  toString(): string {
    return this.#base + this.#stretches.map((part) => part.joined + part.deltas.join('')).join('');
  }

  #append(msgId: string, delta: string): void {
    let last = this.#stretches.at(-1);
    if (last?.msgId !== msgId) this.#stretches.push((last = { msgId, joined: '', deltas: [] }));
    last.deltas.push(delta);
    if (last.deltas.length < RUN) return;
    last.joined += last.deltas.join('');
    last.deltas = [];
  }
}
