/** What the head of a chat tells of its session: which profile answers, and how plans are followed. */
import { ApiError } from '../api.js';
import { byId } from '../dom.js';

/** The modes in their order, with what each means. @type {[string, string][]} */
const MODES = [
  ['planner', 'Planner: the answer follows its plan by itself'],
  ['teacher', 'Teacher: each step waits for you'],
  ['agentic', 'Agentic: steps that fail are mended'],
];

/** One for the whole visit. */
export class SessionHead {
  #api;
  #complain;
  #profile = byId('profile-badge', HTMLElement);
  #picker = byId('mode-picker', HTMLElement);
  #mode = byId('mode', HTMLSelectElement);
  #key = '';

  /**
   * @param {import('../api.js').Api} api
   * @param {(error: unknown) => void} complain
   */
  constructor(api, complain) {
    this.#api = api;
    this.#complain = complain;
    for (const [mode, words] of MODES) {
      const option = new Option(words.split(':', 1)[0], mode);
      option.title = words;
      this.#mode.add(option);
    }
    this.#mode.addEventListener('change', () => void this.#choose());
  }

  /**
   * Another chat is open; nothing is known of it yet.
   * @param {string} key
   */
  open(key) {
    this.#key = key;
    this.#profile.hidden = true;
    this.#picker.hidden = true;
  }

  /** Reads the session anew; one that does not exist yet shows nothing. */
  async refresh() {
    const key = this.#key;
    try {
      const session = await this.#api.session(key);
      if (key !== this.#key) return;
      this.#profile.hidden = session.profileId === 'default';
      this.#profile.textContent = session.profileId;
      this.#show(session.mode);
      this.#picker.hidden = false;
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 404)) this.#complain(error);
    }
  }

  /**
   * While a plan is carried out, how that is done stays as it is.
   * @param {boolean} running
   */
  setRunning(running) {
    this.#mode.disabled = running;
  }

  /** @param {string} mode */
  #show(mode) {
    this.#mode.value = mode;
    this.#mode.title = MODES.find(([name]) => name === mode)?.[1] ?? '';
    this.#picker.classList.toggle('agentic', mode === 'agentic');
  }

  async #choose() {
    this.#show(this.#mode.value);
    try {
      await this.#api.setMode(this.#key, this.#mode.value);
    } catch (error) {
      this.#complain(error);
      await this.refresh();
    }
  }
}
