/**
 * Commands and what the gateway answered, by chat: they are not messages, so this browser keeps them, for all of its
 * tabs.
 */
import { randomId } from '../requests.ts';
import { StoredList } from '../stored-list.ts';

/** The oldest beyond these are forgotten. */
const MAX_ANSWERS = 100;
/** Longer answers are cut. */
const MAX_ANSWER = 10_000;

/** A command with its answer. */
export interface CommandAnswer {
  id: string;
  key: string;
  /** The number of the last message before it. */
  after: number;
  content: string;
  reply: string;
}

const answers = new StoredList<CommandAnswer>('parley-command-answers', MAX_ANSWERS);

/** Those of one chat, until `signal` aborts; what another tab keeps is shown, too. */
export class CommandAnswers {
  readonly #key: string;
  readonly #draw: (answer: CommandAnswer) => void;
  /** Ids of those that are shown. */
  readonly #shown = new Set<string>();
  #from = 0;

  constructor(key: string, signal: AbortSignal, draw: (answer: CommandAnswer) => void) {
    this.#key = key;
    this.#draw = draw;
    answers.follow(signal, () => this.show(this.#from));
  }

  /** Draws those after the message with this number that are not shown yet; returns whether there are any. */
  show(from: number): boolean {
    this.#from = from;
    const chatAnswers = answers.read().filter(({ key, after }) => key === this.#key && after >= from);
    for (const answer of chatAnswers) {
      if (this.#shown.has(answer.id)) continue;
      this.#shown.add(answer.id);
      this.#draw(answer);
    }
    return chatAnswers.length > 0;
  }

  /** Keeps one that is already shown. */
  keep({ after, content, reply }: Omit<CommandAnswer, 'id' | 'key'>): CommandAnswer {
    const id = randomId();
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
export function forgetCommandAnswers(): void {
  answers.clear();
}
