/** What a step says while it is done: seen as thinking, because it is for the plan and not for the answer. */
import type { EventBody } from '../../contracts/event.ts';
import type { PlanStep } from '../../contracts/plan.ts';

/** What people read above the words of a step. */
export function stepTitle({ index, description }: PlanStep): string {
  return `Step ${index + 1}: ${description}`;
}

/**
 * Passes a step's events on, its model calls as thinking under `title`, one piece of it a call; a call that says nothing,
 * because it only calls a tool, is not seen. Gives what `events` gives; throws what it throws.
 */
export async function* asThinking<T>(
  title: string,
  events: AsyncGenerator<EventBody, T>,
): AsyncGenerator<EventBody, T> {
  const words = new StepWords(title);
  try {
    for (;;) {
      const next = await events.next();
      if (next.done === true) return next.value;
      yield* words.take(next.value);
    }
  } catch (error) {
    yield* words.close();
    throw error;
  }
}

/** The words of one call after the other. */
class StepWords {
  readonly #title: string;
  /** The call whose words are being shown. */
  #open: string | undefined;
  /** The model's own thinking came last: its answer begins a paragraph. */
  #mused = false;

  constructor(title: string) {
    this.#title = title;
  }

  *take(body: EventBody): Generator<EventBody, void> {
    switch (body.type) {
      case 'stream_start':
      case 'thinking_started':
      case 'thinking_finished':
        return;
      case 'thinking_delta':
        yield* this.#say(body.msgId, body.delta);
        this.#mused = true;
        return;
      case 'stream_chunk':
        yield* this.#say(body.msgId, this.#mused ? `\n\n${body.delta}` : body.delta);
        this.#mused = false;
        return;
      case 'stream_reset':
        yield* this.close();
        yield body;
        return;
      case 'stream_end':
        if (this.#open === undefined) return;
        yield { type: 'thinking_finished', msgId: body.msgId, usage: body.usage };
        this.#open = undefined;
        this.#mused = false;
        return;
      default:
        yield body;
    }
  }

  /** Ends what a broken call left open. */
  *close(): Generator<EventBody, void> {
    if (this.#open !== undefined) yield { type: 'thinking_finished', msgId: this.#open };
    this.#open = undefined;
    this.#mused = false;
  }

  *#say(msgId: string, delta: string): Generator<EventBody, void> {
    if (delta === '') return;
    if (this.#open === undefined) {
      yield { type: 'thinking_started', msgId, title: this.#title };
      this.#open = msgId;
    }
    yield { type: 'thinking_delta', msgId, delta };
  }
}
