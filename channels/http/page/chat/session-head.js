/** The head of a chat: its profile and its plan mode. */
import { ApiError } from '../api.js';
import { byId } from '../dom.js';
import { say } from '../texts.js';

/** The modes in the order of the list, each with its explanation. @type {[import('../../../../src/contracts/plan.ts').ExecutionMode, string][]} */
const MODES = [
  ['planner', say('page.mode.planner')],
  ['teacher', say('page.mode.teacher')],
  ['agentic', say('page.mode.agentic')],
];

/** Shows and changes the settings of the open session. */
export class SessionHead {
  #api;
  #showError;
  #profile = byId('profile-badge', HTMLElement);
  #picker = byId('mode-picker', HTMLElement);
  #mode = byId('mode', HTMLSelectElement);
  #key = '';

  /**
   * @param {import('../api.js').Api} api
   * @param {(error: unknown) => void} showError
   */
  constructor(api, showError) {
    this.#api = api;
    this.#showError = showError;
    for (const [mode, label] of MODES) {
      const option = new Option(label.split(':', 1)[0], mode);
      option.title = label;
      this.#mode.add(option);
    }
    this.#mode.addEventListener('change', () => void this.#setMode());
  }

  /**
   * Switches to another chat, whose session is not loaded yet.
   * @param {string} key
   */
  open(key) {
    this.#key = key;
    this.#profile.hidden = true;
    this.#picker.hidden = true;
  }

  /** Reloads the session; one that does not exist yet shows nothing. */
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
      if (!(error instanceof ApiError && error.status === 404)) this.#showError(error);
    }
  }

  /**
   * Disables the picker while a turn runs, when the mode cannot change.
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

  async #setMode() {
    this.#show(this.#mode.value);
    try {
      await this.#api.changeSession(this.#key, { mode: this.#mode.value });
    } catch (error) {
      this.#showError(error);
      await this.refresh();
    }
  }
}
