/** Commands and what the gateway answered, by chat: no messages, so this browser keeps them, for all of its tabs. */
const STORED_AS = 'parley-command-answers';
/** The oldest beyond these are forgotten. */
const MAX_ANSWERS = 100;
/** Longer answers are cut. */
const MAX_ANSWER = 10_000;

/**
 * A command with its answer; `after` is the number of the last message before it.
 * @typedef {{ id: string, key: string, after: number, content: string, reply: string }} CommandAnswer
 */

/**
 * Those of a chat, oldest first.
 * @param {string} key
 */
export function commandAnswers(key) {
  return read().filter((answer) => answer.key === key);
}

/** @param {CommandAnswer} answer */
export function keepCommandAnswer(answer) {
  const kept = {
    ...answer,
    content: answer.content.slice(0, MAX_ANSWER),
    reply: answer.reply.slice(0, MAX_ANSWER),
  };
  try {
    localStorage.setItem(STORED_AS, JSON.stringify([...read(), kept].slice(-MAX_ANSWERS)));
  } catch {
    // The storage is full or switched off: the answer lives as long as the page.
  }
}

/**
 * Calls back when another tab has kept an answer, until `signal` aborts.
 * @param {() => void} changed
 * @param {AbortSignal} signal
 */
export function followCommandAnswers(changed, signal) {
  addEventListener('storage', ({ key }) => key === STORED_AS && changed(), { signal });
}

/** Forgets all of them. */
export function forgetCommandAnswers() {
  localStorage.removeItem(STORED_AS);
}

/** @returns {CommandAnswer[]} */
function read() {
  try {
    return JSON.parse(localStorage.getItem(STORED_AS) ?? '[]');
  } catch {
    return [];
  }
}
