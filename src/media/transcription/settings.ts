/** Which server turns speech into text. */
import { z } from 'zod';

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
    .describe('what people speak, such as `de`; otherwise the server finds out'),
  maxMinutes: z.int().min(1).max(600).default(30).describe('longer recordings are not transcribed'),
});

export type TranscriptionSettings = z.infer<typeof transcriptionRule>;
