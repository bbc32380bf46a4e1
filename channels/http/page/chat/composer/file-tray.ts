/**
 * The files that the next message brings: chosen, pasted or dropped, sent at once, shown with their progress.
 */
import type { StoredFile, FileLimits, Api } from '../../api.ts';
import { byId, h, icon } from '../../dom.ts';
import { fileSize } from '../file-views.ts';
import { say } from '../../texts.ts';
import { messageOf } from '../../failures/in-place.ts';

/** A file in the tray. */
interface Chosen {
  file: File;
  element: HTMLElement;
  ended: AbortController;
  state: 'sending' | 'sent' | 'failed';
  stored?: StoredFile;
}

/** The tray above the message field. */
export class FileTray {
  #api;
  #changed;
  #key = '';
  #list = byId('file-tray', HTMLElement);
  #note = byId('file-note', HTMLElement);
  #overlay = byId('drop-overlay', HTMLElement);
  #chosen: Chosen[] = [];
  /** What the newest message took. */
  #taken: Chosen[] = [];
  #limits: Promise<FileLimits> | undefined;
  #isOpen = false;

  /** @param onChange called when files were added, sent or removed */
  constructor(api: Api, onChange: () => void) {
    this.#api = api;
    this.#changed = onChange;
    const picker = byId('file-picker', HTMLInputElement);
    byId('attach', HTMLElement).addEventListener('click', () => picker.click());
    picker.addEventListener('change', () => {
      this.add([...(picker.files ?? [])]);
      // The same file can be chosen again.
      picker.value = '';
    });
    addEventListener('paste', (event) => this.#takeFiles(event, event.clipboardData));
    this.#listenForDrops(byId('chat', HTMLElement));
  }

  /** True while a file is on its way, or could not be sent: then the message waits. */
  get isWaiting() {
    return this.#chosen.some(({ state }) => state !== 'sent');
  }

  /** Number of files in the tray. */
  get count() {
    return this.#chosen.length;
  }

  /**
   * Switches to another chat; what was in the tray is removed.
   * @param isOpen whether files can be sent to it
   */
  open(key: string, isOpen: boolean) {
    for (const entry of this.#chosen.splice(0)) this.#discard(entry);
    this.#taken = [];
    this.#key = key;
    this.#isOpen = isOpen;
    this.#draw();
  }

  /** The files for a message; the tray is empty then. */
  takeAll() {
    this.#taken = this.#chosen.splice(0);
    this.#draw();
    return this.#taken.flatMap(({ stored: storedFile }) => (storedFile === undefined ? [] : [storedFile]));
  }

  /** Puts back what was taken last: the message that brought it was refused. */
  giveBack() {
    this.#chosen.push(...this.#taken.splice(0));
    this.#draw();
  }

  add(files: File[]) {
    if (!this.#isOpen) return;
    void this.#addWithin(files);
  }

  async #addWithin(files: File[]) {
    const key = this.#key;
    // Without the limits, the gateway itself refuses what exceeds them.
    const limits = await (this.#limits ??= this.#api.fileLimits()).catch(() => undefined);
    if (limits === undefined) this.#limits = undefined;
    if (key !== this.#key) return;
    const room = (limits?.maxFilesPerMessage ?? Infinity) - this.#chosen.length;
    for (const file of files.slice(0, Math.max(0, room))) this.#send(file, limits?.maxFileBytes ?? Infinity);
    this.#draw();
    if (files.length > room)
      this.#note.textContent = say('page.files.too_many', { count: limits?.maxFilesPerMessage ?? 0 });
  }

  #send(file: File, maxBytes: number) {
    const entry: Chosen = { file, element: h('li'), ended: new AbortController(), state: 'sending' };
    this.#chosen.push(entry);
    if (file.size > maxBytes)
      this.#fail(entry, say('page.files.too_large', { size: fileSize(file.size), most: fileSize(maxBytes) }));
    else if (file.size === 0) this.#fail(entry, say('page.files.empty'));
    else void this.#upload(entry);
  }

  async #upload(entry: Chosen) {
    const bar = h('progress', {
      max: 1,
      value: 0,
      'aria-label': say('page.files.sending', { name: entry.file.name }),
    });
    entry.state = 'sending';
    entry.element.replaceChildren(...this.#chip(entry), bar);
    this.#changed();
    try {
      entry.stored = await this.#api.upload(this.#key, entry.file, {
        signal: entry.ended.signal,
        progress: (part) => (bar.value = part),
      });
      entry.state = 'sent';
      entry.element.replaceChildren(...this.#chip(entry));
      this.#changed();
    } catch (error) {
      if (entry.ended.signal.aborted) return;
      this.#fail(entry, messageOf(error), () => void this.#upload(entry));
    }
  }

  #fail(entry: Chosen, reason: string, onRetry?: () => void) {
    entry.state = 'failed';
    const retry =
      onRetry && h('button', { type: 'button', class: 'text-button', onclick: onRetry }, say('page.again'));
    const errorText = h(
      'p',
      { class: 'error-text', role: 'alert' },
      reason,
      ...(retry === undefined ? [] : [' ', retry]),
    );
    entry.element.replaceChildren(...this.#chip(entry), errorText);
    this.#changed();
  }

  #chip(entry: Chosen) {
    const { file, state } = entry;
    entry.element.className = `file-chip ${state}`;
    const remove = h(
      'button',
      {
        type: 'button',
        class: 'chip-remove',
        'aria-label': say('page.files.remove', { name: file.name }),
        onclick: () => this.#remove(entry),
      },
      icon('M6 6l12 12M18 6L6 18'),
    );
    const label = h(
      'span',
      { class: 'chip-label' },
      h('span', { class: 'chip-name', dir: 'auto' }, file.name),
      h('span', { class: 'chip-size' }, fileSize(file.size)),
    );
    return [preview(file), label, remove];
  }

  #remove(entry: Chosen) {
    this.#chosen = this.#chosen.filter((one) => one !== entry);
    this.#discard(entry);
    this.#draw();
    byId('draft', HTMLElement).focus();
  }

  /** Cancels a file; what has arrived is removed, unless a file in the tray has the same content. */
  #discard({ ended: controller, stored: storedFile }: Chosen) {
    controller.abort();
    if (storedFile === undefined || this.#chosen.some((one) => one.stored?.file === storedFile.file)) return;
    // The gateway removes what is left when it expires.
    this.#api.removeFile(this.#key, storedFile.file).catch(() => undefined);
  }

  #draw() {
    this.#note.textContent = '';
    this.#list.replaceChildren(...this.#chosen.map(({ element }) => element));
    this.#list.hidden = this.#chosen.length === 0;
    this.#changed();
  }

  /** Takes the files of a paste or a drop; anything else is handled as usual. */
  #takeFiles(event: Event, data: DataTransfer | null) {
    const files = [...(data?.files ?? [])];
    if (files.length === 0) return;
    event.preventDefault();
    this.add(files);
  }

  #listenForDrops(area: HTMLElement) {
    // Elements below the area enter and leave as well.
    let depth = 0;
    const count = (by: number) => {
      depth = Math.max(0, depth + by);
      this.#overlay.hidden = depth === 0 || !this.#isOpen;
    };
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes('Files') === true;
    area.addEventListener('dragenter', (event) => hasFiles(event) && count(1));
    area.addEventListener('dragleave', (event) => hasFiles(event) && count(-1));
    // A browser opens a file that is dropped anywhere else, and the page is gone.
    addEventListener('dragover', (event) => hasFiles(event) && event.preventDefault());
    addEventListener('drop', (event) => {
      count(-depth);
      if (!hasFiles(event)) return;
      event.preventDefault();
      if (event.target instanceof Node && area.contains(event.target))
        this.#takeFiles(event, event.dataTransfer);
    });
  }
}

/** Pictures of these types are drawn before they are sent. */
const DRAWN = /^image\/(png|jpeg|gif|webp|avif)$/;

/** A small picture of the file, or an icon. */
function preview(file: File) {
  if (!DRAWN.test(file.type)) return h('span', { class: 'chip-icon' }, icon('M7 3h7l5 5v13H7zM14 3v5h5'));
  const url = URL.createObjectURL(file);
  const release = () => URL.revokeObjectURL(url);
  return h('img', { class: 'chip-picture', src: url, alt: '', onload: release, onerror: release });
}
