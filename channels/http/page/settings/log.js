/**
 * The screen about the log: its newest lines, and those that are written while it is open. It asks for them now and then: the log
 * is a file that several processes write, and a stream of it would be a second one beside that of the chats for a screen that is
 * looked at for minutes.
 */
import { h } from '../dom.ts';
import { choice, form, labelled, moment, section } from './parts.js';
import { say } from '../texts.ts';

/** @typedef {{ time: number, level: string, message: string, fields: string }} Line */

/** Pause between two looks at the log, in milliseconds. */
const LOOK_EVERY_MS = 2_000;
/** Lines that stay on the screen. */
const MAX_SHOWN_LINES = 500;

/** The lowest level that is shown; kept while the page is open. */
let level = 'info';

/** @type {import('./parts.js').Screen} */
export async function logScreen(host) {
  const read = async () => {
    /** @type {{ lines: Line[] }} */
    const { lines } = await host.ask('GET', `/v1/log?level=${level}`);
    return lines;
  };
  const levels = choice(
    {
      debug: say('page.set.level_debug'),
      info: say('page.set.level_info'),
      warn: say('page.set.level_warn'),
      error: say('page.set.level_error'),
    },
    level,
  );
  const show = () => {
    level = levels.value;
    void host.act(async () => undefined);
  };
  const list = new LogList(await read());
  const pause = h('button', { type: 'button', 'aria-pressed': 'false' }, say('page.set.log_pause'));
  pause.addEventListener('click', () => {
    const isPaused = pause.getAttribute('aria-pressed') === 'false';
    pause.setAttribute('aria-pressed', String(isPaused));
  });
  followWhileShown(list.element, async () => {
    if (!document.hidden && pause.getAttribute('aria-pressed') === 'false') list.show(await read());
  });
  return [
    section(
      say('page.set.log'),
      form(say('page.set.show'), show, labelled(say('page.set.at_least'), levels)),
      h('p', {}, pause),
      list.element,
    ),
  ];
}

/**
 * Looks again and again until the screen is another one. What fails is tried again with the next look.
 * @param {HTMLElement} element
 * @param {() => Promise<void>} look
 */
function followWhileShown(element, look) {
  const repeat = async () => {
    if (!element.isConnected) return;
    await look().catch(() => undefined);
    next();
  };
  const next = () => setTimeout(() => void repeat(), LOOK_EVERY_MS);
  next();
}

/** The lines, the newest one first; each is drawn once. */
class LogList {
  element = h('div', {});
  #list = h('ol', { class: 'log-lines', 'aria-label': say('page.set.log_lines') });
  /** The newest lines that are shown, as text. @type {string[]} */
  #shown = [];

  /** @param {Line[]} lines oldest first */
  constructor(lines) {
    this.show(lines);
  }

  /** @param {Line[]} lines oldest first */
  show(lines) {
    const texts = lines.map((line) => JSON.stringify(line));
    const last = this.#shown.at(-1);
    const from = last === undefined ? 0 : texts.lastIndexOf(last) + 1;
    this.#shown = texts;
    this.#list.prepend(...lines.slice(from).toReversed().map(logLine));
    while (this.#list.childElementCount > MAX_SHOWN_LINES) this.#list.lastElementChild?.remove();
    const isEmpty = this.#list.childElementCount === 0;
    this.element.replaceChildren(isEmpty ? h('p', { class: 'quiet' }, say('page.set.log_none')) : this.#list);
  }
}

/** @param {Line} line */
function logLine({ time, level: of, message, fields }) {
  return h(
    'li',
    { class: `log-line ${of}` },
    h('span', { class: 'log-at' }, moment(time)),
    h('span', { class: 'log-level' }, of),
    h('span', { class: 'log-event' }, message),
    h('code', { class: 'log-fields', dir: 'auto' }, fields),
  );
}
