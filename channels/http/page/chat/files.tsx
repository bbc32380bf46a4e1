/** Files of stored messages: pictures in place, sound with its controls, everything else as a download. */
import type { JSX } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { api, type StoredFile } from '../api.ts';
import { messageOf } from '../failures/in-place.ts';
import type { Pictures } from '../markdown/markdown.tsx';
import { showDialog } from '../parts/dialog.tsx';
import { Icon } from '../parts/icon.tsx';
import { number, say } from '../texts.ts';

export type ShownFile = Pick<StoredFile, 'file' | 'kind' | 'name' | 'mimeType' | 'bytes' | 'inText'>;

/** Pictures that browsers draw and that hold no scripts, as the gateway has read them from the content. */
const DRAWN = /^image\/(png|jpeg|gif|webp|avif)$/;
/** Sound that browsers play. */
const PLAYED = /^audio\/(ogg|mpeg|mp4|x-m4a|wav|vnd\.wave|webm|aac|flac|x-flac)\b/;
/** A larger picture is a download until it is asked for. */
const MAX_DRAWN_BYTES = 20_000_000;

/** The files of one session; each is fetched once for all places that show it. */
export class ChatFiles {
  readonly #key: string;
  readonly #urls = new Map<string, Promise<string>>();

  constructor(key: string) {
    this.#key = key;
  }

  /** Its bytes. Rejects with `ApiError`. */
  read({ file }: ShownFile): Promise<Blob> {
    return api.file(this.#key, file);
  }

  /** The address at which the page has it. Rejects with `ApiError`. */
  url(file: ShownFile): Promise<string> {
    const url =
      this.#urls.get(file.file) ??
      this.read(file).then((blob) => URL.createObjectURL(new Blob([blob], { type: file.mimeType })));
    this.#urls.set(file.file, url);
    url.catch(() => this.#urls.delete(file.file));
    return url;
  }

  /** Frees the pictures. */
  close(): void {
    // One that could not be loaded, which its place in the chat says, has nothing to free.
    for (const url of this.#urls.values())
      void url.then((at) => URL.revokeObjectURL(at)).catch(() => undefined);
    this.#urls.clear();
  }
}

interface FileProps {
  files: ChatFiles;
  file: ShownFile;
}

/** The files of a message. */
export function FileList({
  files,
  list,
}: {
  files: ChatFiles;
  list: readonly ShownFile[];
}): JSX.Element | null {
  if (list.length === 0) return null;
  return (
    <ul class="files" aria-label={say('page.files')}>
      {list.map((file) => (
        <li key={file.file} class="shown-file">
          <FileView files={files} file={file} />
        </li>
      ))}
    </ul>
  );
}

/** The files of an answer: what its text shows in their places, and the others, which are below. */
export function usePictures(
  files: ChatFiles,
  inAnswer: readonly ShownFile[],
): { pictures: Pictures; others: readonly ShownFile[] } {
  /** The paths of the places that are drawn. */
  const [paths, setPaths] = useState<readonly string[]>([]);
  const note = useCallback((path: string) => {
    setPaths((all) => [...all, path]);
    return () => setPaths((all) => all.toSpliced(all.indexOf(path), 1));
  }, []);
  const pictures = useMemo(() => {
    const draw = (path: string): JSX.Element | undefined => {
      const file = inAnswer.find(({ inText }) => inText === path);
      return (
        file && (
          <span class="shown-file">
            <FileView files={files} file={file} />
          </span>
        )
      );
    };
    return { draw, note };
  }, [files, inAnswer]);
  return {
    pictures,
    others: inAnswer.filter(({ inText }) => inText === undefined || !paths.includes(inText)),
  };
}

function FileView({ files, file }: FileProps): JSX.Element {
  if (DRAWN.test(file.mimeType) && file.bytes <= MAX_DRAWN_BYTES)
    return <Picture files={files} file={file} />;
  return (
    <>
      {PLAYED.test(file.mimeType) && <Player files={files} file={file} />}
      <Download files={files} file={file} />
    </>
  );
}

/** A picture that opens larger; its download until it is there, and where it cannot be drawn. */
function Picture({ files, file }: FileProps): JSX.Element {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    // The download says why it fails when it is pressed.
    files.url(file).then(setUrl, () => undefined);
  }, [files, file.file]);
  if (url === undefined) return <Download files={files} file={file} />;
  return (
    <button
      type="button"
      class="picture"
      aria-label={say('page.files.enlarge', { name: file.name })}
      onClick={() => enlarge(files, file, url)}
    >
      <img src={url} alt={file.name} onError={() => setUrl(undefined)} />
    </button>
  );
}

function enlarge(files: ChatFiles, file: ShownFile, url: string): void {
  showDialog((close) => <Enlarged files={files} file={file} url={url} close={close} />);
}

function Enlarged({ files, file, url, close }: FileProps & { url: string; close: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="confirm picture-dialog" aria-label={say('page.picture')} onClose={close}>
      <div class="picture-head">
        <Download files={files} file={file} />
        <button type="button" class="icon-button" aria-label={say('page.close')} onClick={close}>
          <Icon name="close" />
        </button>
      </div>
      <img src={url} alt={file.name} onClick={close} />
    </dialog>
  );
}

/** Plays the sound; its bytes are fetched as soon as it is seen: without an address the controls have nothing to load. */
function Player({ files, file }: FileProps): JSX.Element | null {
  const sound = useRef<HTMLAudioElement>(null);
  const [url, setUrl] = useState<string | null>();
  useEffect(() => {
    const observer = new IntersectionObserver(([entry]) => {
      if (entry?.isIntersecting !== true) return;
      observer.disconnect();
      files.url(file).then(setUrl, () => setUrl(null));
    });
    if (sound.current !== null) observer.observe(sound.current);
    return () => observer.disconnect();
  }, [files, file.file]);
  if (url === null) return null;
  return (
    <audio
      ref={sound}
      controls
      preload="none"
      src={url}
      aria-label={say('page.files.play', { name: file.name })}
    />
  );
}

/** Saves the file as plain bytes: nothing in it is opened by this page. */
function Download({ files, file }: FileProps): JSX.Element {
  const [problem, setProblem] = useState('');
  const save = async (): Promise<void> => {
    setProblem('');
    try {
      saveAs(await files.read(file), file.name);
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  return (
    <span class="download">
      <button
        type="button"
        class="file-chip"
        title={say('page.files.download', { name: file.name })}
        onClick={() => void save()}
      >
        <span class="chip-icon">
          <Icon name="download" />
        </span>
        <span class="chip-label">
          <span class="chip-name" dir="auto">
            {file.name}
          </span>
          <span class="chip-size">{fileSize(file.bytes)}</span>
        </span>
      </button>
      <span class="error-text" role="alert">
        {problem}
      </span>
    </span>
  );
}

/** Lets the browser save something under a name. */
export function saveAs(blob: Blob, name: string): void {
  const url = URL.createObjectURL(new Blob([blob], { type: 'application/octet-stream' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A size for people: "812 B", "40 kB", "1.5 MB". */
export function fileSize(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${Math.round(bytes / 1_000)} kB`;
  return `${number(Math.round(bytes / 100_000) / 10)} MB`;
}

/** A file of an edited message, which the new chat has a copy of. */
export function asSentAgain(file: string): StoredFile {
  const name = file.slice(file.indexOf('-') + 1);
  return { file, name, kind: 'file', mimeType: '', bytes: 0, sha256: '' };
}
