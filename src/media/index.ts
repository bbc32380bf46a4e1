/** Files that come with messages: fetched into the session's folder, read in a separate process, kept for a while. */
import type {
  DocumentText,
  KeepToolFile,
  StoredFiles,
  Pictures,
  ReadInline,
  ReceiveFiles,
  Transcriber,
} from '../protocol/media.ts';
import type { AudioApi } from '../protocol/file-api.ts';
import type { Channel } from '../protocol/channel.ts';
import type { Log } from '../protocol/log.ts';
import type { SessionFiles } from '../protocol/agent/tool.ts';
import { createDocumentText, createReader } from './reader/reader.ts';
import { createInbox } from './inbox.ts';
import { createReadInline, createTranscribe } from './recordings.ts';
import { startSweep } from './stored-files.ts';
import { createPictures, type MediaContext } from './fetch-file.ts';
import { fileLimitsOf, type MediaSettings } from './settings.ts';
import { createKeepToolFile } from './tool-files.ts';

export { createSpeech } from './speech.ts';
export { createTranscriber } from './transcriber.ts';
export { fileTypeOf } from './reader/file-type.ts';
export { findReaderConfinement } from './reader/reader.ts';
export {
  configureSpeech,
  fileLimitsOf,
  mediaRule,
  personLimitOf,
  speechRule,
  transcriptionRule,
  type SpeechSettings,
} from './settings.ts';

export interface MediaDeps {
  channels: ReadonlyMap<string, Channel>;
  files: SessionFiles;
  keptFiles: StoredFiles;
  settings: MediaSettings;
  /** Undefined: no server is set. */
  transcriber: Transcriber | undefined;
  log: Log;
  /** Monotonic milliseconds. */
  monotonicNow: () => number;
}

export interface MediaModule {
  receive: ReceiveFiles;
  pictures: Pictures;
  documentText: DocumentText;
  readInline: ReadInline;
  keepToolFile: KeepToolFile;
  /** For callers of the API. */
  recordings: Pick<AudioApi, 'transcribe' | 'canTranscribe'>;
  /** Removes old files until the signal aborts. */
  startSweep(signal: AbortSignal): void;
}

/** Makes the module. */
export function createMedia({ monotonicNow, ...parts }: MediaDeps): MediaModule {
  const reader = createReader({ onOpen: () => parts.log.warn('file_reader_has_network') });
  const context: MediaContext = { ...parts, reader };
  return {
    receive: createInbox(context),
    pictures: createPictures(context),
    documentText: createDocumentText(context.reader, monotonicNow),
    readInline: createReadInline(context),
    keepToolFile: createKeepToolFile(context),
    recordings: createTranscribe(context.transcriber, fileLimitsOf(context.settings).maxFileBytes),
    startSweep: (signal) => startSweep(context, signal),
  };
}
