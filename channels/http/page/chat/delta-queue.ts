/** Gathers the words of growing texts for one frame: a model may write hundreds a second, and each would be drawn. */
import type { AgentEvent } from '../../../../src/protocol/event.ts';

type Delta = Extract<AgentEvent, { type: 'stream_chunk' | 'thinking_delta' }>;

/** Events in their order; the words of one text that follow each other are one event. */
export class DeltaQueue {
  readonly #apply: (event: AgentEvent) => void;
  readonly #schedule: (work: () => void) => void;
  #waiting: Delta[] = [];

  /** @param schedule runs what is given once, before the next frame is drawn */
  constructor(
    apply: (event: AgentEvent) => void,
    schedule: (work: () => void) => void = (work) => void requestAnimationFrame(work),
  ) {
    this.#apply = apply;
    this.#schedule = schedule;
  }

  /** Takes an event that may wait. Any other is to be applied now, after those that wait: then it is false. */
  add(event: AgentEvent): boolean {
    if (event.type !== 'stream_chunk' && event.type !== 'thinking_delta') {
      this.flush();
      return false;
    }
    if (this.#waiting.length === 0) this.#schedule(() => this.flush());
    const last = this.#waiting.at(-1);
    if (last !== undefined && isSameText(last, event))
      this.#waiting[this.#waiting.length - 1] = { ...event, delta: last.delta + event.delta };
    else this.#waiting.push(event);
    return true;
  }

  /** Applies what waits. */
  flush(): void {
    const events = this.#waiting;
    this.#waiting = [];
    for (const event of events) this.#apply(event);
  }
}

function isSameText(one: Delta, other: Delta): boolean {
  return (
    one.type === other.type &&
    one.msgId === other.msgId &&
    one.turnId === other.turnId &&
    one.agentId === other.agentId
  );
}
