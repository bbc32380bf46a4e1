/** Files of sessions for HTTP API callers: uploaded for a message, read, removed. */
import type { Caller } from './access.ts';
import type { Attachment, Media, Transcript, TranscriptRequest } from './media.ts';
import type { SessionKey } from './message.ts';
import type { OpenedFile } from './agent/tool.ts';

/** Largest size and number of files in one message. */
export interface FileLimits {
  maxFileBytes: number;
  maxFilesPerMessage: number;
}

/** What one person's files may take up together. */
export interface PersonLimit {
  maxBytes: number;
  days: number;
}

/** What a file is, read from its first bytes; the name distinguishes kinds that start alike. Never throws. */
export type FileTypeOf = (head: Uint8Array, name: string) => Promise<Pick<Attachment, 'kind' | 'mimeType'>>;

/** First bytes of a file from which its type is read. */
export const TYPE_HEAD_BYTES = 4_100;

/** A file on its way to the gateway. */
export interface Upload {
  name: string;
  chunks: AsyncIterable<Uint8Array>;
}

/** A file of a session, opened for reading. */
export interface ReadableFile extends OpenedFile, Pick<Attachment, 'kind' | 'mimeType'> {
  /** Safe to display and to use as a file name. */
  name: string;
}

/** A file of a session, as listed. */
export interface ListedFile {
  /** Its path, by which it is opened. */
  file: string;
  /** Safe for display: without the digest that uploaded files have. */
  name: string;
  bytes: number;
  changedAt: Date;
}

/**
 * Methods throw only `GatewayError`: `bad_path`, `file_not_found`, for incoming files `file_too_large`, `empty_file`,
 * `storage_full`; and errors of an upload's `chunks`. Undefined = no session that the caller may see.
 */
export interface FileApi {
  readonly limits: FileLimits;
  /** Stores a file once in the session, which is created if necessary, for a message that will name it. */
  upload(caller: Caller, key: SessionKey, file: Upload): Promise<Attachment | undefined>;
  named(caller: Caller, key: SessionKey, files: readonly string[]): Promise<Media[] | undefined>;
  /** The files of the session's folder, the newest first; at most `MAX_LISTED_FILES`. */
  list(caller: Caller, key: SessionKey): Promise<{ files: ListedFile[]; more: boolean } | undefined>;
  /** Opens any file of the session's folder. */
  open(caller: Caller, key: SessionKey, file: string): Promise<ReadableFile | undefined>;
  /** Removes an uploaded file. */
  remove(caller: Caller, key: SessionKey, file: string): Promise<true | undefined>;
}

/** Forms of sound, by OpenAI's names, with their content types. */
export const SOUND_TYPES = {
  mp3: 'audio/mpeg',
  opus: 'audio/ogg',
  aac: 'audio/aac',
  flac: 'audio/flac',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
} as const;

type SoundFormat = keyof typeof SOUND_TYPES;

/** How a text is spoken; what is left out is as in the settings. */
interface SpeechRequest {
  format: SoundFormat;
  voice?: string | undefined;
  /** 1 is the usual speed. */
  speed?: number | undefined;
  /** Who asks for it. */
  userId?: string | undefined;
}

/** Throws `GatewayError`: `not_configured` while the settings name no such server. */
export interface AudioApi {
  /** The settings name a server that transcribes. */
  readonly canTranscribe: boolean;
  /**
   * What is said in a recording, which is not stored. `request` is called once it has arrived: a form may have its
   * fields after the file. Also throws `file_too_large`, `empty_file`, `unreadable_file`, what `chunks` throws, and the
   * reason of `signal`.
   */
  transcribe(recording: Upload, request: () => TranscriptRequest, signal: AbortSignal): Promise<Transcript>;
  speak(text: string, request: SpeechRequest, signal: AbortSignal): Promise<Uint8Array>;
}
