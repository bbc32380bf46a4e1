/** Calls by which people act on a conversation: fork it, ask again, choose an answer, change what waits. */
import { pathOf } from './requests.js';

/** @typedef {import('../wire.ts').WireQueue} WireQueue */

/**
 * @param {string} key
 * @param {string} turnId
 */
function waitingPath(key, turnId) {
  return `${pathOf(key)}/queue/${encodeURIComponent(turnId)}`;
}

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
   * @param {'retry' | 'undo'} action
   * @returns {Promise<{ turnId: string, note?: string }>}
   */
  again(key, action) {
    return this.#requests.json(
      'POST',
      `${pathOf(key)}/${action}`,
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
   * What can be chosen for a chat with this profile.
   * @param {string} profile
   * @returns {Promise<import('../wire.ts').WireChoices>}
   */
  choices(profile) {
    return this.#requests.json('GET', `/v1/choices?profile=${encodeURIComponent(profile)}`);
  }

  /**
   * Who answers the next message of a chat.
   * @param {string} key
   * @returns {Promise<import('../wire.ts').WireSessionModel>}
   */
  model(key) {
    return this.#requests.json('GET', `${pathOf(key)}/model`);
  }

  /**
   * What became of a turn; with `prompt`, also what the model was sent.
   * @param {string} turnId
   * @param {{ prompt?: boolean }} [include]
   * @returns {Promise<import('../wire.ts').WireTrace>}
   */
  trace(turnId, { prompt = false } = {}) {
    const query = prompt ? '?include=prompt' : '';
    return this.#requests.json('GET', `/v1/turns/${encodeURIComponent(turnId)}/trace${query}`);
  }

  /**
   * What waits behind the running answer.
   * @param {string} key
   * @returns {Promise<WireQueue>}
   */
  queue(key) {
    return this.#requests.json('GET', `${pathOf(key)}/queue`);
  }

  /**
   * @param {string} key
   * @param {string} turnId
   * @param {string} content
   * @returns {Promise<WireQueue>}
   */
  editWaiting(key, turnId, content) {
    return this.#requests.json('PATCH', waitingPath(key, turnId), { content });
  }

  /**
   * @param {string} key
   * @param {string} turnId
   * @returns {Promise<WireQueue>}
   */
  dropWaiting(key, turnId) {
    return this.#requests.json('DELETE', waitingPath(key, turnId));
  }

  /**
   * Ends the running answer, and answers this message next.
   * @param {string} key
   * @param {string} turnId
   * @returns {Promise<WireQueue>}
   */
  sendNow(key, turnId) {
    return this.#requests.json('POST', `${waitingPath(key, turnId)}/send-now`);
  }

  /**
   * The files of the session, newest first.
   * @param {string} key
   * @returns {Promise<{ files: { file: string, name: string, bytes: number, changedAt: string }[], more: boolean }>}
   */
  files(key) {
    return this.#requests.json('GET', `${pathOf(key)}/files`);
  }

  /**
   * All messages of the session as one file.
   * @param {string} key
   * @param {'md' | 'json'} format
   */
  async export(key, format) {
    const response = await this.#requests.send('GET', `${pathOf(key)}/export?format=${format}`);
    return response.blob();
  }
}
