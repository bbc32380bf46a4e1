/** The settings, whose script is loaded when an admin first opens them. */
import type { Api } from '../api.ts';
import type { Settings, SettingsHost } from './settings.tsx';

/** Shows and hides them as `Settings` does. */
export class SettingsLater {
  readonly #api: Api;
  readonly #host: SettingsHost;
  #loaded: Settings | undefined;
  /** The screen to show; undefined = a chat is shown. */
  #wanted: string | undefined;

  constructor(api: Api, host: SettingsHost) {
    this.#api = api;
    this.#host = host;
  }

  /** Shows a screen in place of the chat, by its address. */
  show(address = ''): void {
    this.#wanted = address;
    if (this.#loaded !== undefined) this.#loaded.show(address);
    else this.#load().catch(this.#host.showError);
  }

  /** Shows the chat again. */
  hide(): void {
    this.#wanted = undefined;
    this.#loaded?.hide();
  }

  async #load(): Promise<void> {
    const { Settings: Loaded } = await import('./settings.tsx');
    this.#loaded ??= new Loaded(this.#api, this.#host);
    if (this.#wanted !== undefined) this.#loaded.show(this.#wanted);
  }
}
