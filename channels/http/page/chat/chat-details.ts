/** About the open chat, in a dialog: the whole chat as a file, and the files of its folder. */
import type { Api } from '../api.ts';
import { byId, closeLine, h } from '../dom.ts';
import { dayAndClock, say } from '../texts.ts';
import { timeElement } from '../times.ts';
import { fileSize, saveAs } from './file-views.ts';
import { attempt } from '../failures/in-place.js';

type ListedFile = { file: string; name: string; bytes: number; changedAt: string };
type Listed = { files: ListedFile[]; more: boolean };

/** The button in the head of a chat, and its dialog. */
export class ChatDetails {
  #api;
  #open = byId('open-details', HTMLButtonElement);
  #key = '';

  constructor(api: Api) {
    this.#api = api;
    this.#open.addEventListener('click', () => void this.#show());
  }

  /**
   * Switches to another chat.
   * @param exists it has a message
   */
  open(key: string, exists: boolean) {
    this.#key = key;
    this.#open.hidden = !exists;
  }

  async #show() {
    const key = this.#key;
    const note = h('p', { class: 'error-text', role: 'alert' });
    const save = async (format: 'md' | 'json') =>
      saveAs(
        await this.#api.conversations.export(key, format),
        `${key.replaceAll(/[^A-Za-z0-9_-]/g, '-')}.${format}`,
      );
    const files = h('div', { 'aria-live': 'polite' }, say('page.details.reading'));
    const dialog = h(
      'dialog',
      { class: 'trace details', 'aria-label': say('page.details.title') },
      h('h2', {}, say('page.details.export')),
      h(
        'p',
        { class: 'linked-form' },
        h(
          'button',
          { type: 'button', onclick: () => void attempt(note, () => save('md')) },
          say('page.details.as_markdown'),
        ),
        h(
          'button',
          { type: 'button', onclick: () => void attempt(note, () => save('json')) },
          say('page.details.as_json'),
        ),
      ),
      h('h2', {}, say('page.details.files')),
      files,
      note,
      closeLine(() => dialog.close()),
    );
    dialog.addEventListener('close', () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
    await attempt(note, async () => {
      const listed = await this.#api.conversations.files(key);
      const take = ({ file, name }: ListedFile) =>
        void attempt(note, async () => saveAs(await this.#api.file(key, file), name));
      files.replaceChildren(...listOf(listed, take));
    });
    if (files.childElementCount === 0) files.replaceChildren();
  }
}

function listOf({ files, more }: Listed, take: (file: ListedFile) => void) {
  if (files.length === 0) return [h('p', { class: 'quiet' }, say('page.details.no_files'))];
  const rows = files.map((file) =>
    h(
      'li',
      { class: 'linked-row' },
      h('span', { dir: 'auto' }, file.name),
      h('span', { class: 'quiet' }, `${fileSize(file.bytes)} · `, timeElement(file.changedAt, dayAndClock)),
      h(
        'button',
        {
          type: 'button',
          class: 'text-button',
          'aria-label': say('page.files.download', { name: file.name }),
          onclick: () => take(file),
        },
        say('page.details.download'),
      ),
    ),
  );
  return [
    h('ul', { class: 'linked-list' }, ...rows),
    ...(more ? [h('p', { class: 'quiet' }, say('page.details.more', { count: files.length }))] : []),
  ];
}
