/** The limits of files that come with messages. */
import { z } from 'zod';
import type { FileLimits, PersonLimit } from '../protocol/file-api.ts';
import { stripEnd } from '../lib/text.ts';

/** `media` in `config.json`. */
export const mediaRule = z.strictObject({
  maxFileMb: z
    .int()
    .min(1)
    .max(2_000)
    .default(20)
    .describe('largest [file](files.md) of a message, in megabytes; a larger one is refused with a message'),
  maxFilesPerMessage: z
    .int()
    .min(1)
    .max(100)
    .default(10)
    .describe('files of one message that are read; the rest are refused'),
  maxMbPerPerson: z
    .int()
    .min(1)
    .max(1_000_000)
    .default(500)
    .describe('what the files of one person may take up together, in megabytes'),
  keepDays: z
    .int()
    .min(1)
    .max(3_650)
    .default(30)
    .describe('days after which the files of messages are removed'),
});

export type MediaSettings = z.infer<typeof mediaRule>;

/** The limits of files that callers upload. */
export function fileLimitsOf({ maxFileMb, maxFilesPerMessage }: MediaSettings): FileLimits {
  return { maxFileBytes: maxFileMb * MEGABYTE, maxFilesPerMessage };
}

/** What the files of one person may take up together, and how long they count. */
export function personLimitOf({ maxMbPerPerson, keepDays }: MediaSettings): PersonLimit {
  return { maxBytes: maxMbPerPerson * MEGABYTE, days: keepDays };
}

/** Bytes of a megabyte, as people count them. */
export const MEGABYTE = 1_000_000;

/** Longest text that servers with OpenAI's API accept, in UTF-16 units. */
const MAX_INPUT_CHARS = 4_096;

/** What a header can contain. */
const API_KEY = /^[\x21-\x7e]+$/;

/** `speech` in `config.json`; without it answers stay texts. */
export const speechRule = z.strictObject({
  baseUrl: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL such as http://127.0.0.1:8880/v1' })
    .describe(
      'a text-to-speech server with the API of OpenAI, up to `/audio/speech`: with `/voice on` answers are also spoken',
    ),
  model: z.string().min(1).max(200).default('tts-1').describe('its model'),
  voice: z.string().min(1).max(200).default('alloy').describe('one of its voices'),
  format: z
    .enum(['opus', 'mp3'], { error: 'must be "opus" or "mp3"' })
    .default('opus')
    .describe('audio format: `opus` or `mp3`'),
  apiKeyEnv: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable')
    .optional()
    .describe('the environment variable with its key'),
  maxChars: z
    .int()
    .min(100)
    .max(MAX_INPUT_CHARS)
    .default(1_500)
    .describe('characters of an answer that are spoken; a longer one is cut after a sentence'),
});

/** The server that is used. */
export interface SpeechSettings extends Omit<z.infer<typeof speechRule>, 'apiKeyEnv'> {
  /** Secret. */
  apiKey: string | undefined;
  /** Where it comes from. */
  apiKeyEnv: string | undefined;
}

/** The settings with their key. `errors` are sentences that begin with the field; none repeats a value. */
export function configureSpeech(
  file: z.infer<typeof speechRule> | undefined,
  env: Readonly<Record<string, string | undefined>>,
): { speech: SpeechSettings | undefined; errors: string[] } {
  if (file === undefined) return { speech: undefined, errors: [] };
  const { apiKeyEnv, baseUrl, ...rest } = file;
  const apiKey = apiKeyEnv === undefined ? undefined : env[apiKeyEnv];
  if (apiKeyEnv !== undefined && apiKey === undefined) {
    const error = `speech.apiKeyEnv: the environment variable ${apiKeyEnv} is not set`;
    return { speech: undefined, errors: [error] };
  }
  if (apiKey !== undefined && !API_KEY.test(apiKey))
    return { speech: undefined, errors: [`${apiKeyEnv}: may hold only visible ASCII characters`] };
  return { speech: { ...rest, baseUrl: stripEnd(baseUrl, '/'), apiKey, apiKeyEnv }, errors: [] };
}

/** `transcription` in `config.json`; without it recordings stay files. */
export const transcriptionRule = z.strictObject({
  baseUrl: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL such as http://127.0.0.1:8000/v1' })
    .describe(
      'a speech-to-text server with the API of OpenAI, up to `/audio/transcriptions`: recordings become text',
    ),
  model: z.string().min(1).max(200).default('whisper-1').describe('its model'),
  language: z
    .string()
    .regex(/^[a-z]{2,3}$/, 'must be a code of two or three letters such as de')
    .optional()
    .describe('language of the recordings, such as `de`; unset = the server detects it'),
  maxMinutes: z.int().min(1).max(600).default(30).describe('longer recordings are not transcribed'),
});

export type TranscriptionSettings = z.infer<typeof transcriptionRule>;
