/** Speech for callers of the API, by the servers of the settings. */
import type { Upload } from './file-api.ts';
import type { Transcript, TranscriptRequest } from './media.ts';

/** Forms of sound, by OpenAI's names, with their content types. */
export const SOUND_TYPES = {
  mp3: 'audio/mpeg',
  opus: 'audio/ogg',
  aac: 'audio/aac',
  flac: 'audio/flac',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
} as const;
export type SoundFormat = keyof typeof SOUND_TYPES;

/** How a text is spoken; what is left out is as in the settings. */
export interface SpeechRequest {
  format: SoundFormat;
  voice?: string | undefined;
  /** 1 is the usual speed. */
  speed?: number | undefined;
}

/** Throws `GatewayError`: `not_configured` while the settings name no such server. */
export interface AudioApi {
  /**
   * What is said in a recording, which is kept nowhere. `request` is called once the recording has arrived: a form may
   * have its fields after the file. Also throws `file_too_large`, `empty_file`, `unreadable_file`, what `chunks` throws, and
   * the reason of `signal`.
   */
  transcribe(recording: Upload, request: () => TranscriptRequest, signal: AbortSignal): Promise<Transcript>;
  /** The sound of a text. Also throws the reason of `signal`. */
  speak(text: string, request: SpeechRequest, signal: AbortSignal): Promise<Uint8Array>;
}
