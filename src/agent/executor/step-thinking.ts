/** Text of a step while it runs: shown as thinking, because it belongs to the plan and not to the answer. */
import type { EventBody } from '../../contracts/event.ts';
import type { PlanStep } from '../../contracts/plan.ts';
import type { Emit } from '../deps.ts';

/** Title of the thinking of a step. */
export function stepTitle({ index, description }: PlanStep): string {
  return `Step ${index + 1}: ${description}`;
}

/**
 * Passes a step's events on, its model calls as thinking under `title`, one piece of it a call; a call that says nothing,
 * because it only calls a tool, is not seen.
 */
export class StepThinking {
  readonly #title: string;
  readonly #emit: Emit;
  /** The call whose text is being shown. */
  #open: string | undefined;
  /** The model's own thinking came last: its answer begins a paragraph. */
  #mused = false;

  constructor(title: string, emit: Emit) {
    this.#title = title;
    this.#emit = emit;
  }

  pass(body: EventBody): void {
    switch (body.type) {
      case 'stream_start':
      case 'thinking_started':
      case 'thinking_finished':
        return;
      case 'thinking_delta':
        this.#say(body.msgId, body.delta);
        this.#mused = true;
        return;
      case 'stream_chunk':
        this.#say(body.msgId, this.#mused ? `\n\n${body.delta}` : body.delta);
        this.#mused = false;
        return;
      case 'stream_reset':
        this.close();
        this.#emit(body);
        return;
      case 'stream_end':
        if (this.#open === undefined) return;
        this.#emit({ type: 'thinking_finished', msgId: body.msgId, usage: body.usage });
        this.#open = undefined;
        this.#mused = false;
        return;
      default:
        this.#emit(body);
    }
  }

  /** Ends what a broken call left open. */
  close(): void {
    if (this.#open !== undefined) this.#emit({ type: 'thinking_finished', msgId: this.#open });
    this.#open = undefined;
    this.#mused = false;
  }

  #say(msgId: string, delta: string): void {
    if (delta === '') return;
    if (this.#open === undefined) {
      this.#emit({ type: 'thinking_started', msgId, title: this.#title });
      this.#open = msgId;
    }
    this.#emit({ type: 'thinking_delta', msgId, delta });
  }
}
