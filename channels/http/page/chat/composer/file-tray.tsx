/** The files that the next message brings: chosen, pasted or dropped, sent at once, shown with their progress. */
import { computed, signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { api, type FileLimits, type StoredFile } from '../../api.ts';
import { messageOf } from '../../failures/in-place.ts';
import { Icon } from '../../parts/icon.tsx';
import { say } from '../../texts.ts';
import { fileSize } from '../files.tsx';

/** A file in the tray. */
interface Chosen {
  id: number;
  file: File;
  controller: AbortController;
  state: 'sending' | 'sent' | 'failed';
  /** The part that was sent, 0 to 1. */
  progress: number;
  problem?: string;
  canRetry?: boolean;
  stored?: StoredFile;
}

let limits: Promise<FileLimits> | undefined;

/** The files of the message that is being written. */
export class FileTray {
  readonly #key: string;
  readonly files = signal<readonly Chosen[]>([]);
  readonly note = signal('');
  /** A file is on its way, or could not be sent: the message waits. */
  readonly isWaiting = computed(() => this.files.value.some(({ state }) => state !== 'sent'));
  /** Files can be sent to the open chat. */
  readonly isOpen: boolean;
  #ids = 0;
  #isClosed = false;
  /** What the newest message took. */
  #taken: readonly Chosen[] = [];

  /** @param isOpen files can be sent to the chat */
  constructor(key: string, isOpen: boolean) {
    this.#key = key;
    this.isOpen = isOpen;
  }

  /** Another chat is opened: what is in the tray is removed. */
  close(): void {
    this.#isClosed = true;
    const before = this.files.value;
    this.#set([]);
    for (const entry of before) this.#discard(entry);
  }

  /** The files for a message; the tray is empty then. */
  takeAll(): StoredFile[] {
    this.#taken = this.files.value;
    this.#set([]);
    return this.#taken.flatMap(({ stored: file }) => (file === undefined ? [] : [file]));
  }

  /** Puts back what was taken last: the message that brought it was refused. */
  giveBack(): void {
    this.#set([...this.files.value, ...this.#taken]);
    this.#taken = [];
  }

  /** Adds files, as many as one message may bring. Without the limits, the gateway itself refuses what exceeds them. */
  async add(files: readonly File[]): Promise<void> {
    if (!this.isOpen) return;
    const most = await (limits ??= api.fileLimits()).catch(() => undefined);
    if (most === undefined) limits = undefined;
    if (this.#isClosed) return;
    const room = Math.max(0, (most?.maxFilesPerMessage ?? Infinity) - this.files.value.length);
    for (const file of files.slice(0, room)) this.#begin(file, most?.maxFileBytes ?? Infinity);
    this.note.value =
      files.length > room ? say('page.files.too_many', { count: most?.maxFilesPerMessage ?? 0 }) : '';
  }

  /** Takes the files of a paste or a drop; anything else is handled as usual. */
  takeFrom(event: Event, data: DataTransfer | null): void {
    const files = [...(data?.files ?? [])];
    if (files.length === 0) return;
    event.preventDefault();
    void this.add(files);
  }

  async upload(id: number): Promise<void> {
    const entry = this.files.value.find((one) => one.id === id);
    if (entry === undefined) return;
    const { signal } = entry.controller;
    this.#change(id, { state: 'sending', progress: 0 });
    try {
      const progress = (part: number): void => this.#change(id, { progress: part });
      const file = await api.upload(this.#key, entry.file, { signal, progress });
      this.#change(id, { state: 'sent', stored: file });
    } catch (error) {
      if (!signal.aborted) this.#change(id, { state: 'failed', problem: messageOf(error), canRetry: true });
    }
  }

  remove(entry: Chosen): void {
    this.#set(this.files.value.filter(({ id }) => id !== entry.id));
    this.#discard(entry);
  }

  #begin(file: File, maxBytes: number): void {
    const problem =
      file.size > maxBytes
        ? say('page.files.too_large', { size: fileSize(file.size), most: fileSize(maxBytes) })
        : file.size === 0
          ? say('page.files.empty')
          : undefined;
    const entry = { id: (this.#ids += 1), file, controller: new AbortController(), progress: 0 };
    const state = problem === undefined ? 'sending' : 'failed';
    this.#set([...this.files.value, { ...entry, state, ...(problem !== undefined && { problem }) }]);
    if (problem === undefined) void this.upload(entry.id);
  }

  /** Cancels a file; what has arrived is removed, unless a file in the tray has the same content. */
  #discard({ controller, stored: file }: Chosen): void {
    controller.abort();
    if (file === undefined || this.files.value.some((one) => one.stored?.file === file.file)) return;
    // The gateway removes what is left when it expires.
    api.removeFile(this.#key, file.file).catch(() => undefined);
  }

  #change(id: number, change: Partial<Chosen>): void {
    this.files.value = this.files.value.map((one) => (one.id === id ? { ...one, ...change } : one));
  }

  #set(files: readonly Chosen[]): void {
    this.note.value = '';
    this.files.value = files;
  }
}

/** The tray above the message field; `focusField` is called after a file was removed. */
export function Tray({ tray, focusField }: { tray: FileTray; focusField: () => void }): JSX.Element {
  return (
    <>
      <ul
        id="file-tray"
        class="file-tray"
        aria-label={say('page.files.tray')}
        hidden={tray.files.value.length === 0}
      >
        {tray.files.value.map((entry) => (
          <Chip key={entry.id} tray={tray} entry={entry} focusField={focusField} />
        ))}
      </ul>
      <p id="file-note" class="error-text" role="status">
        {tray.note}
      </p>
    </>
  );
}

function Chip({
  tray,
  entry,
  focusField,
}: {
  tray: FileTray;
  entry: Chosen;
  focusField: () => void;
}): JSX.Element {
  const { id, file, state, progress, problem, canRetry } = entry;
  const { name, size } = file;
  return (
    <li class={`file-chip ${state}`}>
      <Preview file={file} />
      <span class="chip-label">
        <span class="chip-name" dir="auto">
          {name}
        </span>
        <span class="chip-size">{fileSize(size)}</span>
      </span>
      <button
        type="button"
        class="chip-remove"
        aria-label={say('page.files.remove', { name })}
        onClick={() => {
          tray.remove(entry);
          focusField();
        }}
      >
        <Icon name="close" />
      </button>
      {state === 'sending' && (
        <progress max={1} value={progress} aria-label={say('page.files.sending', { name })} />
      )}
      {state === 'failed' && (
        <p class="error-text" role="alert">
          {problem}{' '}
          {canRetry && (
            <button type="button" class="text-button" onClick={() => void tray.upload(id)}>
              {say('page.again')}
            </button>
          )}
        </p>
      )}
    </li>
  );
}

/** Pictures of these types are drawn before they are sent. */
const DRAWN = /^image\/(png|jpeg|gif|webp|avif)$/;

/** A small picture of the file, or an icon. */
function Preview({ file }: { file: File }): JSX.Element {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    if (!DRAWN.test(file.type)) return undefined;
    const address = URL.createObjectURL(file);
    setUrl(address);
    return () => URL.revokeObjectURL(address);
  }, [file]);
  return url === undefined ? (
    <span class="chip-icon">
      <Icon name="file" />
    </span>
  ) : (
    <img class="chip-picture" src={url} alt="" />
  );
}

/** What is shown over the chat while files are dragged across it. */
export function DropOverlay({ tray }: { tray: FileTray }): JSX.Element {
  const [isOver, setOver] = useState(false);
  useEffect(() => listenForDrops(tray, setOver), [tray]);
  return (
    <div id="drop-overlay" class="drop-overlay" hidden={!isOver || !tray.isOpen}>
      <p>{say('page.files.drop')}</p>
    </div>
  );
}

/** Takes files that are dropped on the chat. Returns the function that ends it. */
function listenForDrops(tray: FileTray, show: (isOver: boolean) => void): () => void {
  // Elements below the chat enter and leave as well.
  let depth = 0;
  const controller = new AbortController();
  const listen = (
    type: 'dragenter' | 'dragleave' | 'dragover' | 'drop',
    act: (event: DragEvent) => void,
  ): void =>
    addEventListener(
      type,
      (event) => event.dataTransfer?.types.includes('Files') === true && act(event),
      controller,
    );
  const isOverChat = ({ target }: Event): boolean =>
    target instanceof Element && target.closest('#chat') !== null;
  const count = (event: Event, by: number): void => {
    if (isOverChat(event)) depth = Math.max(0, depth + by);
    show(depth > 0);
  };
  listen('dragenter', (event) => count(event, 1));
  listen('dragleave', (event) => count(event, -1));
  // A browser opens a file that is dropped anywhere else, and the page is gone.
  listen('dragover', (event) => event.preventDefault());
  listen('drop', (event) => {
    depth = 0;
    show(false);
    event.preventDefault();
    if (isOverChat(event)) tray.takeFrom(event, event.dataTransfer);
  });
  return () => controller.abort();
}
