/** Files that come with messages: fetched into the session's folder, read in a separate process, kept for a while. */
import type {
  DocumentText,
  KeepToolFile,
  KeptFiles,
  Pictures,
  ReadInline,
  ReceiveFiles,
  Transcriber,
} from '../protocol/media.ts';
import type { AudioApi } from '../protocol/file-api.ts';
import { createDocumentText } from './documents.ts';
import { createInbox, type InboxDeps } from './inbox.ts';
import { createTranscribe } from './recordings.ts';
import { createReadInline } from './inline.ts';
import { startSweep, type SweepDeps } from './kept-files.ts';
import { createPictures } from './pictures.ts';
import { createReader } from './reader/reader.ts';
import { fileLimitsOf } from './settings.ts';
import { createKeepToolFile } from './tool-files.ts';

export { configureSpeech, speechRule } from './speech/settings.ts';
export type { SpeechSettings } from './speech/settings.ts';
export { createSpeech } from './speech/speech.ts';
export { transcriptionRule } from './transcription/settings.ts';
export { createTranscriber } from './transcription/transcriber.ts';
export { fileTypeOf } from './file-type.ts';
export { fileLimitsOf, mediaRule, personLimitOf } from './settings.ts';

export interface MediaDeps extends Omit<InboxDeps, 'reader' | 'files' | 'keptFiles' | 'transcriber'> {
  /** Undefined: no server is set. */
  transcriber: Transcriber | undefined;
  files: InboxDeps['files'] & SweepDeps['files'];
  keptFiles: KeptFiles;
  monotonicNow: () => number;
}

export interface MediaModule {
  receive: ReceiveFiles;
  pictures: Pictures;
  documentText: DocumentText;
  readInline: ReadInline;
  keepToolFile: KeepToolFile;
  /** For callers of the API. */
  transcribe: AudioApi['transcribe'];
  /** Removes old files until the signal aborts. */
  startSweep(signal: AbortSignal): void;
}

/** Makes the module. */
export function createMedia(deps: MediaDeps): MediaModule {
  const { files, log, settings, keptFiles, monotonicNow } = deps;
  const reader = createReader();
  return {
    receive: createInbox({ ...deps, reader }),
    pictures: createPictures(files, log),
    documentText: createDocumentText(reader, monotonicNow),
    readInline: createReadInline({
      reader,
      maxFileBytes: fileLimitsOf(settings).maxFileBytes,
      transcriber: deps.transcriber,
    }),
    keepToolFile: createKeepToolFile({ files, keptFiles, settings, reader }),
    transcribe: createTranscribe({
      transcriber: deps.transcriber,
      maxFileBytes: fileLimitsOf(settings).maxFileBytes,
    }),
    startSweep: (signal) => startSweep({ keptFiles, files, keepDays: settings.keepDays, log }, signal),
  };
}
