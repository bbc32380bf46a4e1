/** `POST /v1/audio/transcriptions` and `POST /v1/audio/speech`, by the speech servers of the settings. */
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { z } from 'zod';
import { SOUND_TYPES } from '../../../src/protocol/file-api.ts';
import { GatewayError, wordError } from '../../../src/protocol/errors.ts';
import { parseShape, refuseEncodings } from '../body.ts';
import { callerReader, HttpError } from '../errors.ts';
import { type HandlerDeps, type HttpContext, type Route, routeOf } from '../route.ts';
import { isForm, readUpload, refuseLength } from '../upload.ts';
import { disconnectSignal } from './answer.ts';
import { checkFields, type FieldTable, ignored, supported, refusedField } from './fields.ts';

/** Longest text that is spoken, in UTF-16 units: OpenAI's limit. */
export const MAX_SPOKEN_TEXT = 4_096;

const TRANSCRIPTION_FIELDS: FieldTable = {
  model: ignored('the server of the settings has its own'),
  language: supported('instead of that of the settings'),
  prompt: supported('passed on'),
  temperature: supported('passed on'),
  response_format: supported('`json`, `text` or `verbose_json`'),
  'timestamp_granularities[]': refusedField('the server decides what it times', 'segment'),
  stream: refusedField('the text comes whole', 'false'),
  'include[]': refusedField('servers report no likelihoods'),
  chunking_strategy: ignored('the server decides'),
};

const transcriptionForm = z.object({
  language: z
    .string()
    .regex(/^[a-z]{2,3}$/i, 'must be a code of two or three letters such as de')
    .optional(),
  prompt: z.string().optional(),
  temperature: z.coerce.number().min(0).max(1).optional(),
  response_format: z
    .enum(['json', 'text', 'verbose_json'], 'must be json, text or verbose_json')
    .default('json'),
});

const SPEECH_FIELDS: FieldTable = {
  model: ignored('the server of the settings has its own'),
  input: supported('the text'),
  voice: supported('one of the server’s'),
  response_format: supported('where the server knows it'),
  speed: supported('passed on'),
  stream_format: refusedField('the sound comes whole', 'audio'),
  instructions: refusedField('servers with this API know none', ''),
};

/** Statuses of what speech servers answer; any other error has its usual one. */
const STATUS: Record<string, number> = {
  bad_response: 502,
  not_configured: 501,
  not_found: 502,
  refused: 400,
  timeout: 504,
  too_large: 413,
  unreadable: 400,
};

const RECORDING = {
  'multipart/form-data': {
    schema: {
      type: 'object',
      required: ['file'],
      properties: {
        file: { type: 'string', format: 'binary' },
        model: { type: 'string' },
        language: { type: 'string' },
        prompt: { type: 'string' },
        temperature: { type: 'number' },
        response_format: { enum: ['json', 'text', 'verbose_json'] },
      },
    },
  },
};

const route = routeOf('openai');

export const audioRoutes: readonly Route[] = [
  route('POST', '/v1/audio/transcriptions', 'chat', {
    summary: 'The text of a recording',
    description:
      'By the server of `transcription` in config.json, else 501. The recording is kept nowhere. `verbose_json` has what the server knows; `srt` and `vtt` are refused.',
    upload: RECORDING,
    answer: z.looseObject({ text: z.string() }),
    others: [{ type: 'text/plain', body: 'text' }],
    async handle(c, deps) {
      const { incoming, outgoing } = c.env;
      const { audio, files } = deps.gateway;
      if (!isForm(incoming.headers['content-type'])) {
        const text = 'Send the recording in a form: multipart/form-data with the field "file".';
        throw new HttpError(415, 'unsupported_media_type', text, { param: 'content-type' });
      }
      refuseEncodings(incoming);
      refuseLength(incoming, files.limits.maxFileBytes);
      const signal = await beginCall(c, deps);
      if (incoming.headers.expect !== undefined) outgoing.writeContinue();
      const upload = await readUpload(incoming, undefined);
      const form = () => {
        const fields = Object.fromEntries(upload.fields);
        checkFields(fields, TRANSCRIPTION_FIELDS);
        return parseShape(fields, transcriptionForm);
      };
      const userId = `token:${c.get('caller').tokenId}`;
      const request = () => ({ ...form(), userId, verbose: form().response_format === 'verbose_json' });
      const transcript = await withStatus(c, () => audio.transcribe(upload, request, signal));
      const { response_format: format } = form();
      if (format === 'text') return c.text(`${transcript.text}\n`);
      return c.json(format === 'json' ? { text: transcript.text } : transcript);
    },
  }),
  route('POST', '/v1/audio/speech', 'chat', {
    fields: SPEECH_FIELDS,
    summary: 'A text read aloud',
    description:
      'By the server of `speech` in config.json, else 501. The sound comes whole, by default as MP3.',
    body: z.object({
      input: z.string().min(1).max(MAX_SPOKEN_TEXT, `must have at most ${MAX_SPOKEN_TEXT} characters`),
      voice: z
        .union([z.string(), z.looseObject({ id: z.string() }).transform(({ id }) => id)])
        .nullish()
        .transform((voice) => voice || undefined),
      response_format: z.enum(['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm']).nullish(),
      speed: z.number().min(0.25).max(4).nullish(),
    }),
    answer: 'nothing',
    others: [{ type: 'audio/*', body: 'bytes' }],
    async handle(c, deps, read) {
      const { outgoing } = c.env;
      const { input, voice, response_format, speed } = await read();
      const signal = await beginCall(c, deps);
      const format = response_format ?? 'mp3';
      const userId = `token:${c.get('caller').tokenId}`;
      const request = { format, voice, speed: speed ?? undefined, userId };
      const bytes = await withStatus(c, () => deps.gateway.audio.speak(input, request, signal));
      outgoing
        .writeHead(200, {
          'content-type': SOUND_TYPES[format],
          'content-length': String(bytes.length),
          'cache-control': 'no-store',
        })
        .end(bytes);
      return RESPONSE_ALREADY_SENT;
    },
  }),
];

/** Counts the call among those of its token; the signal aborts when the client leaves. Throws `HttpError` 429. */
async function beginCall(c: HttpContext, { limits }: HandlerDeps): Promise<AbortSignal> {
  const { outgoing } = c.env;
  const signal = disconnectSignal(outgoing);
  outgoing.once('close', await limits.beginCall(c.get('caller')));
  return signal;
}

async function withStatus<Result>(c: HttpContext, call: () => Promise<Result>): Promise<Result> {
  try {
    return await call();
  } catch (error) {
    const status = error instanceof GatewayError && !(error instanceof HttpError) && STATUS[error.code];
    if (!status) throw error;
    const message = wordError(error, callerReader(c.get('caller')));
    throw new HttpError(status, error.code, message, { cause: error });
  }
}
