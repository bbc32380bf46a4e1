/** The settings, whose script is loaded when an admin first opens them. */

/** Shows and hides them as `Settings` does. */
export class SettingsLater {
  #api;
  #host;
  /** @type {import('./settings.js').Settings | undefined} */
  #loaded;
  /** The screen to show; undefined = a chat is shown. @type {string | undefined} */
  #wanted;

  /**
   * @param {import('../api.ts').Api} api
   * @param {import('./settings.js').SettingsHost} host
   */
  constructor(api, host) {
    this.#api = api;
    this.#host = host;
  }

  /**
   * Shows a screen, in place of the chat.
   * @param {string} [name]
   */
  show(name = 'overview') {
    this.#wanted = name;
    if (this.#loaded !== undefined) this.#loaded.show(name);
    else this.#load().catch(this.#host.showError);
  }

  /** Shows the chat again. */
  hide() {
    this.#wanted = undefined;
    this.#loaded?.hide();
  }

  async #load() {
    const { Settings } = await import('./settings.js');
    this.#loaded ??= new Settings(this.#api, this.#host);
    if (this.#wanted !== undefined) this.#loaded.show(this.#wanted);
  }
}
