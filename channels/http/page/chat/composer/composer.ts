/** The message field: grows with its text, brings files, sends on Enter, and has the Stop button. */
import type { Api, StoredFile } from '../../api.ts';
import { draftOf, keepDraft } from './drafts.ts';
import { CommandMenu } from '../../commands/command-menu.tsx';
import { byId } from '../../dom.ts';
import { say } from '../../texts.ts';
import { FileTray } from './file-tray.ts';

const MAX_HEIGHT_PX = 220;

/** The message field with its buttons. */
export class Composer {
  #form = byId('composer', HTMLFormElement);
  #draft = byId('draft', HTMLTextAreaElement);
  #send = byId('send', HTMLButtonElement);
  #stop = byId('stop', HTMLButtonElement);
  #note = byId('composer-note', HTMLElement);
  #refusal = byId('composer-refusal', HTMLElement);
  #menu;
  #files;
  #key = '';
  #isRunning = false;

  constructor(
    api: Api,
    send: (content: string, files: StoredFile[]) => void,
    stop: () => void,
    showError: (error: unknown) => void,
  ) {
    this.#menu = new CommandMenu(this.#draft, {
      read: () => api.commands(),
      changed: () => this.#fit(),
      showError,
    });
    this.#files = new FileTray(api, () => this.#fit());
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault();
      if (!this.#maySend) return;
      const content = this.#draft.value;
      const files = this.#files.takeAll();
      this.#refusal.textContent = '';
      this.#draft.value = '';
      keepDraft(this.#key, '');
      this.#menu.update();
      this.#fit();
      send(content, files);
    });
    this.#draft.addEventListener('input', () => {
      this.#refusal.textContent = '';
      keepDraft(this.#key, this.#draft.value);
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

  setRunning(running: boolean) {
    this.#isRunning = running;
    this.#fit();
  }

  /** Switches to another chat and its draft; files for the previous one are dropped. */
  open(key: string) {
    this.#key = key;
    this.#draft.value = draftOf(key);
    this.#refusal.textContent = '';
    this.#menu.update();
    this.#fit();
    this.#files.open(key, key.startsWith('http:'));
  }

  /** Enables or disables the field; `note` says why it is disabled. */
  setWritable(writable: boolean, note: string) {
    this.#draft.disabled = !writable;
    this.#form.classList.toggle('read-only', !writable);
    this.#note.textContent = note;
    this.#fit();
  }

  /** Puts the beginning of a message into an empty field. */
  begin(text: string) {
    if (this.#draft.value.trim() === '') this.#draft.value = text;
    keepDraft(this.#key, this.#draft.value);
    this.#fit();
    this.#draft.focus();
  }

  /**
   * Takes back a message that the gateway refused, with the reason next to it; false when another one is being written.
   */
  giveBack(content: string, reason?: string) {
    if (this.#draft.value !== '' || this.#files.count > 0) return false;
    this.#files.giveBack();
    this.begin(content);
    if (reason !== undefined) this.#refusal.textContent = say('page.question.unsent', { why: reason });
    return true;
  }

  focus() {
    if (!matchMedia('(pointer: coarse)').matches) this.#draft.focus();
  }

  /** True when there is a text or a file, and every file has arrived. */
  get #maySend() {
    const isEmpty = this.#draft.value.trim() === '' && this.#files.count === 0;
    return !isEmpty && !this.#files.isWaiting && !this.#draft.disabled;
  }

  #fit() {
    this.#draft.style.height = 'auto';
    this.#draft.style.height = `${Math.min(MAX_HEIGHT_PX, this.#draft.scrollHeight)}px`;
    this.#send.disabled = !this.#maySend;
    // One place for both: what is written is sent, and without a text the running answer can be stopped.
    const hasText = this.#draft.value.trim() !== '' || this.#files.count > 0;
    this.#stop.hidden = !this.#isRunning || hasText;
    this.#send.hidden = !this.#stop.hidden;
  }
}
