/**
 * Commands and what the gateway answered, by chat: they are not messages, so this browser keeps them, for all of its
 * tabs.
 */
import { StoredList } from '../stored-list.ts';

/** The oldest beyond these are forgotten. */
const MAX_ANSWERS = 100;
/** Longer answers are cut. */
const MAX_ANSWER = 10_000;

/**
 * A command with its answer; `after` is the number of the last message before it.
 * @typedef {{ id: string, key: string, after: number, content: string, reply: string }} CommandAnswer
 */

/** @type {StoredList<CommandAnswer>} */
const answers = new StoredList('parley-command-answers', MAX_ANSWERS);

/** Those of one chat, until `signal` aborts; what another tab keeps is shown, too. */
export class CommandAnswers {
  #key;
  #draw;
  /** Ids of those that are shown. @type {Set<string>} */
  #shown = new Set();
  #from = 0;

  /**
   * @param {string} key
   * @param {AbortSignal} signal
   * @param {(answer: CommandAnswer) => void} draw
   */
  constructor(key, signal, draw) {
    this.#key = key;
    this.#draw = draw;
    answers.follow(signal, () => this.show(this.#from));
  }

  /**
   * Draws those after the message with this number that are not shown yet; returns whether there are any.
   * @param {number} from
   */
  show(from) {
    this.#from = from;
    const chatAnswers = answers.read().filter(({ key, after }) => key === this.#key && after >= from);
    for (const answer of chatAnswers) {
      if (this.#shown.has(answer.id)) continue;
      this.#shown.add(answer.id);
      this.#draw(answer);
    }
    return chatAnswers.length > 0;
  }

  /**
   * Keeps one that is already shown.
   * @param {{ after: number, content: string, reply: string }} answer
   * @returns {CommandAnswer}
   */
  keep({ after, content, reply }) {
    const id = crypto.randomUUID();
    this.#shown.add(id);
    const answer = {
      id,
      key: this.#key,
      after,
      content: content.slice(0, MAX_ANSWER),
      reply: reply.slice(0, MAX_ANSWER),
    };
    answers.write([...answers.read(), answer]);
    return answer;
  }
}

/** Forgets those of all chats. */
export function forgetCommandAnswers() {
  answers.clear();
}
