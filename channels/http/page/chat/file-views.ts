/** Files of stored messages: pictures in place, sound with its controls, everything else as a download. */
import type { StoredFile, Api } from '../api.ts';
import { byId, h, icon } from '../dom.ts';
import { number, say } from '../texts.ts';
import { attempt } from '../failures/in-place.ts';

export type ShownFile = Pick<StoredFile, 'file' | 'kind' | 'name' | 'mimeType' | 'bytes' | 'inText'>;

/** Pictures that browsers draw and that hold no scripts, as the gateway has read them from the content. */
const DRAWN = /^image\/(png|jpeg|gif|webp|avif)$/;
/** Sound that browsers play. */
const PLAYED = /^audio\/(ogg|mpeg|mp4|x-m4a|wav|vnd\.wave|webm|aac|flac|x-flac)\b/;
/** A larger picture is a download until it is asked for. */
const MAX_DRAWN_BYTES = 20_000_000;

/** The files of one session; each is fetched once. */
export class FileViews {
  #api;
  #key;
  #views: Map<string, HTMLElement> = new Map();
  #urls: string[] = [];
  #isClosed = false;
  #owners = 0;

  constructor(api: Api, key: string) {
    this.#api = api;
    this.#key = key;
  }

  /** A unique name for each turn. */
  newOwner() {
    return `turn ${(this.#owners += 1)}`;
  }

  /** The files of a message, or nothing. `owner` tells messages apart: each has its own elements. */
  list(files: readonly ShownFile[] | null | undefined, owner: string) {
    if (files === null || files === undefined || files.length === 0) return [];
    const items = files.map((file) => this.#view(file, owner));
    return [h('ul', { class: 'files', 'aria-label': say('page.files') }, ...items)];
  }

  /**
   * Puts the files that a text shows into their places in it, each into the first that names it; returns the others.
   */
  place(files: readonly ShownFile[], owner: string, text: Element) {
    const places: NodeListOf<HTMLElement> = text.querySelectorAll('.picture-place');
    return files.filter((file) => {
      const place = [...places].find(({ dataset }) => dataset['path'] === file.inText);
      if (file.inText === undefined || place === undefined) return true;
      const view = this.#view(file, `${owner} text`, 'span');
      if (!place.contains(view)) place.replaceChildren(view);
      return false;
    });
  }

  /** Frees the pictures. */
  close() {
    this.#isClosed = true;
    for (const url of this.#urls) URL.revokeObjectURL(url);
    this.#views.clear();
  }

  #view(file: ShownFile, owner: string, tag: 'li' | 'span' = 'li') {
    const id = `${owner} ${file.file}`;
    const knownView = this.#views.get(id);
    if (knownView !== undefined) return knownView;
    const item = h(tag, { class: 'shown-file' }, this.#download(file));
    this.#views.set(id, item);
    if (DRAWN.test(file.mimeType) && file.bytes <= MAX_DRAWN_BYTES) void this.#draw(file, item);
    if (PLAYED.test(file.mimeType)) item.prepend(this.#player(file));
    return item;
  }

  /** Puts the picture in the place of its download, once it is there. */
  async #draw(file: ShownFile, item: HTMLElement) {
    try {
      const blob = await this.#api.file(this.#key, file.file);
      if (this.#isClosed) return;
      const url = URL.createObjectURL(new Blob([blob], { type: file.mimeType }));
      this.#urls.push(url);
      const picture = h('img', { src: url, alt: file.name });
      picture.addEventListener('error', () => item.replaceChildren(this.#download(file)));
      const open = () => this.#enlarge(file, url);
      item.replaceChildren(
        h(
          'button',
          {
            type: 'button',
            class: 'picture',
            'aria-label': say('page.files.enlarge', { name: file.name }),
            onclick: open,
          },
          picture,
        ),
      );
    } catch {
      // The download stays, and says why it fails when it is pressed.
    }
  }

  /** Plays the sound; its bytes are fetched on demand. */
  #player(file: ShownFile) {
    const sound = h('audio', {
      controls: true,
      preload: 'none',
      'aria-label': say('page.files.play', { name: file.name }),
    });
    const load = async () => {
      const blob = await this.#api.file(this.#key, file.file);
      if (this.#isClosed) return;
      const url = URL.createObjectURL(new Blob([blob], { type: file.mimeType }));
      this.#urls.push(url);
      sound.src = url;
    };
    // Without an address there is nothing that the controls could load, so it is fetched as soon as it is seen.
    const observer = new IntersectionObserver(([entry]) => {
      if (entry?.isIntersecting !== true) return;
      observer.disconnect();
      load().catch(() => sound.remove());
    });
    observer.observe(sound);
    return sound;
  }

  #enlarge(file: ShownFile, url: string) {
    const dialog = byId('picture-dialog', HTMLDialogElement);
    const close = h('button', {
      type: 'button',
      class: 'icon-button',
      'aria-label': say('page.close'),
      onclick: () => dialog.close(),
    });
    close.append(icon('M6 6l12 12M18 6L6 18'));
    const image = h('img', { src: url, alt: file.name });
    image.addEventListener('click', () => dialog.close());
    dialog.replaceChildren(h('div', { class: 'picture-head' }, this.#download(file), close), image);
    dialog.showModal();
  }

  #download(file: ShownFile) {
    const errorText = h('span', { class: 'error-text', role: 'alert' });
    const button = h(
      'button',
      { type: 'button', class: 'file-chip', title: say('page.files.download', { name: file.name }) },
      h('span', { class: 'chip-icon' }, icon('M12 4v11M7 11l5 5 5-5M5 20h14')),
      h(
        'span',
        { class: 'chip-label' },
        h('span', { class: 'chip-name', dir: 'auto' }, file.name),
        h('span', { class: 'chip-size' }, fileSize(file.bytes)),
      ),
    );
    button.addEventListener('click', () => void attempt(errorText, () => this.#save(file)));
    return h('span', { class: 'download' }, button, errorText);
  }

  /** Saves the file as plain bytes: nothing in it is opened by this page. */
  async #save(file: ShownFile) {
    saveAs(await this.#api.file(this.#key, file.file), file.name);
  }
}

/** Lets the browser save something under a name. */
export function saveAs(blob: Blob, name: string) {
  const url = URL.createObjectURL(new Blob([blob], { type: 'application/octet-stream' }));
  h('a', { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A size for people: "812 B", "40 kB", "1.5 MB". */
export function fileSize(bytes: number) {
  if (bytes < 1_000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${Math.round(bytes / 1_000)} kB`;
  return `${number(Math.round(bytes / 100_000) / 10)} MB`;
}

/** A file of an edited message, which the new chat has a copy of. */
export function asSentAgain(file: string): StoredFile {
  const name = file.slice(file.indexOf('-') + 1);
  return { file, name, kind: 'file', mimeType: '', bytes: 0, sha256: '' };
}
