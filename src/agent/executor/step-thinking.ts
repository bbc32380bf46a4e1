/** The text of a running step, shown as thinking because it is not part of the answer. */
import type { EventBody } from '../../protocol/event.ts';
import type { PlanStep } from '../../protocol/agent/plan.ts';
import type { Say } from '../../protocol/texts/say.ts';
import type { Emit } from '../deps.ts';

/** Title of the thinking of a step. */
export function stepTitle({ index, description }: PlanStep, say: Say): string {
  return say('plan.thinking_step', { number: index + 1, description });
}

/**
 * Forwards the events of a step. The text of each model call becomes one piece of thinking under `title`; a call without
 * text, which only calls a tool, is not shown.
 */
export class StepThinking {
  readonly #title: string;
  readonly #emit: Emit;
  readonly #model: () => string | undefined;
  /** The `msgId` of the call whose text is being shown. */
  #open: string | undefined;
  /** The last delta was the model's own thinking: the text after it starts a new paragraph. */
  #afterThinking = false;

  /** `model` names the model of the step, known once it has been called. */
  constructor(title: string, emit: Emit, model: () => string | undefined) {
    this.#title = title;
    this.#emit = emit;
    this.#model = model;
  }

  forward(body: EventBody): void {
    switch (body.type) {
      case 'stream_start':
      case 'thinking_started':
      case 'thinking_finished':
        return;
      case 'thinking_delta':
        this.#emitDelta(body.msgId, body.delta);
        this.#afterThinking = true;
        return;
      case 'stream_chunk':
        this.#emitDelta(body.msgId, this.#afterThinking ? `\n\n${body.delta}` : body.delta);
        this.#afterThinking = false;
        return;
      case 'stream_reset':
        this.close();
        this.#emit(body);
        return;
      case 'stream_end':
        if (this.#open === undefined) return;
        this.#emit({
          type: 'thinking_finished',
          msgId: body.msgId,
          usage: body.usage,
          model: this.#model(),
        });
        this.#open = undefined;
        this.#afterThinking = false;
        return;
      default:
        this.#emit(body);
    }
  }

  /** Ends the thinking that a broken call left open. */
  close(): void {
    if (this.#open !== undefined) this.#emit({ type: 'thinking_finished', msgId: this.#open });
    this.#open = undefined;
    this.#afterThinking = false;
  }

  #emitDelta(msgId: string, delta: string): void {
    if (delta === '') return;
    if (this.#open === undefined) {
      this.#emit({ type: 'thinking_started', msgId, title: this.#title });
      this.#open = msgId;
    }
    this.#emit({ type: 'thinking_delta', msgId, delta });
  }
}
