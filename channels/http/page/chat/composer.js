/** The message field: grows with its text, sends on Enter, and has the Stop button. */
import { CommandMenu } from './command-menu.js';
import { byId } from '../dom.js';

const MAX_HEIGHT_PX = 220;

/** The message field with its buttons. */
export class Composer {
  #form = byId('composer', HTMLFormElement);
  #draft = byId('draft', HTMLTextAreaElement);
  #send = byId('send', HTMLButtonElement);
  #stop = byId('stop', HTMLButtonElement);
  #note = byId('composer-note', HTMLElement);
  #menu = new CommandMenu(this.#draft, () => this.#fit());

  /**
   * @param {(content: string) => void} send
   * @param {() => void} stop
   */
  constructor(send, stop) {
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault();
      const content = this.#draft.value;
      if (content.trim() === '' || this.#draft.disabled) return;
      this.#draft.value = '';
      this.#menu.update();
      this.#fit();
      send(content);
    });
    this.#draft.addEventListener('input', () => {
      this.#menu.update();
      this.#fit();
    });
    this.#draft.addEventListener('keydown', (event) => {
      if (!event.isComposing && this.#menu.handleKey(event)) {
        event.preventDefault();
        event.stopPropagation();
        return;
      }
      // On a phone Enter starts a new line; while an input method composes, it selects a word.
      const touch = matchMedia('(pointer: coarse)').matches;
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing || touch) return;
      event.preventDefault();
      this.#form.requestSubmit();
    });
    this.#stop.addEventListener('click', stop);
    this.#fit();
  }

  /** @param {import('../api.js').CommandListing[]} commands */
  setCommands(commands) {
    this.#menu.setCommands(commands);
  }

  /** @param {boolean} running */
  setRunning(running) {
    this.#stop.hidden = !running;
  }

  /**
   * Enables or disables the field; `note` says why it is disabled.
   * @param {boolean} writable
   * @param {string} note
   */
  setWritable(writable, note) {
    this.#draft.disabled = !writable;
    this.#form.classList.toggle('read-only', !writable);
    this.#note.textContent = note;
    this.#fit();
  }

  focus() {
    if (!matchMedia('(pointer: coarse)').matches) this.#draft.focus();
  }

  #fit() {
    this.#draft.style.height = 'auto';
    this.#draft.style.height = `${Math.min(MAX_HEIGHT_PX, this.#draft.scrollHeight)}px`;
    this.#send.disabled = this.#draft.value.trim() === '' || this.#draft.disabled;
  }
}
