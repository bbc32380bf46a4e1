/** Calls by which people act on a conversation: fork it, ask again, choose an answer. */
import { pathOf } from './requests.js';

/** The calls of one token; every method throws `ApiError`. */
export class ConversationCalls {
  #requests;

  /** @param {import('./requests.js').Requests} requests */
  constructor(requests) {
    this.#requests = requests;
  }

  /**
   * A new session that begins as this one was at a message, or before the question of that message.
   * @param {string} key
   * @param {{ seq: number, before?: boolean }} from
   * @returns {Promise<import('../wire.ts').WireFork>}
   */
  fork(key, from) {
    return this.#requests.json('POST', `${pathOf(key)}/fork`, from, {
      'idempotency-key': crypto.randomUUID(),
    });
  }

  /**
   * Asks the last question again, or takes it back with its answers.
   * @param {string} key
   * @param {'retry' | 'undo'} what
   * @returns {Promise<{ turnId: string, note?: string }>}
   */
  again(key, what) {
    return this.#requests.json(
      'POST',
      `${pathOf(key)}/${what}`,
      {},
      { 'idempotency-key': crypto.randomUUID() },
    );
  }

  /**
   * Lets the model read the answer of this turn instead of the others to its question.
   * @param {string} key
   * @param {string} turnId
   */
  choose(key, turnId) {
    return this.#requests.json('POST', `${pathOf(key)}/turns/${encodeURIComponent(turnId)}/choose`);
  }

  /**
   * What became of a turn.
   * @param {string} turnId
   * @returns {Promise<import('../wire.ts').WireTrace>}
   */
  trace(turnId) {
    return this.#requests.json('GET', `/v1/turns/${encodeURIComponent(turnId)}/trace`);
  }
}
