/**
 * The text of an answer that was asked for as JSON, without what models put around it where their server does not enforce
 * the form: a byte order mark, or one code fence.
 */
import type { ChatChunk } from '../../contracts/model/provider.ts';

/** The beginning of a fence: its language, and a line break or the JSON itself. */
const OPENING = /^```[A-Za-z0-9_-]{0,20}[ \t]{0,20}(?:\r?\n|(?=[{[]))/;
const MAY_OPEN = /^`{1,3}$|^```[A-Za-z0-9_-]{0,20}[ \t]{0,20}\r?$/;
/** Characters at the end of a fenced text that may be the end of the fence. */
const MAX_TAIL = 1_000;

/** Passes everything on, the text without its wrapping. Throws what `chunks` throws. */
export async function* unwrapJson(chunks: AsyncIterable<ChatChunk>): AsyncGenerator<ChatChunk, void> {
  let wrapping = new Wrapping();
  for await (const chunk of chunks) {
    // The likelihoods of tokens must go with their text.
    if (chunk.type === 'text' && chunk.logprobs === undefined) {
      yield* textOf(wrapping.add(chunk.delta));
      continue;
    }
    if (chunk.type === 'text_was_thinking') wrapping = new Wrapping();
    else if (chunk.type === 'done') yield* textOf(wrapping.end());
    yield chunk;
  }
}

function* textOf(delta: string): Generator<ChatChunk> {
  if (delta !== '') yield { type: 'text', delta };
}

/** Where a text is: before its JSON, in a fence, or in a text that has none. */
class Wrapping {
  #place: 'before' | 'fenced' | 'bare' = 'before';
  #held = '';

  /** What of the text so far is certainly not wrapping, and was not returned before. */
  add(delta: string): string {
    if (this.#place === 'bare') return delta;
    const text = this.#held + delta;
    if (this.#place === 'fenced') return this.#holdTail(text);
    // `trimStart` also removes a byte order mark.
    const begun = text.trimStart();
    if (begun === '' || MAY_OPEN.test(begun)) {
      this.#held = text;
      return '';
    }
    this.#held = '';
    const [opening] = OPENING.exec(begun) ?? [];
    this.#place = opening === undefined ? 'bare' : 'fenced';
    return opening === undefined ? begun : this.#holdTail(begun.slice(opening.length));
  }

  /** The rest: a fence that was never closed has no end to remove. */
  end(): string {
    const rest = this.#held;
    this.#held = '';
    return this.#place === 'fenced' && rest.trim() === '```' ? '' : rest;
  }

  #holdTail(text: string): string {
    const at = Math.max(startOfTail(text), text.length - MAX_TAIL);
    this.#held = text.slice(at);
    return text.slice(0, at);
  }
}

/** Where the white space and the backticks begin that may end a fence. */
function startOfTail(text: string): number {
  const afterTicks = text.trimEnd();
  let at = afterTicks.length;
  while (at > 0 && afterTicks.length - at < 3 && afterTicks[at - 1] === '`') at -= 1;
  return afterTicks.slice(0, at).trimEnd().length;
}
