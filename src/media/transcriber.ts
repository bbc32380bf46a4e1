/** Speech to text by a server with OpenAI's API, such as whisper.cpp, Speaches or vLLM. */
import { stat } from 'node:fs/promises';
import { GatewayError } from '../protocol/errors.ts';
import type { MeterCall } from '../protocol/agent/budgets.ts';
import type { Log } from '../protocol/log.ts';
import type { Recording, Transcriber, Transcript, TranscriptRequest } from '../protocol/media.ts';
import { clipMiddle, stripEnd } from '../lib/text.ts';
import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type IncomingMessage, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { pipeline } from 'node:stream/promises';
import { textRef } from '../protocol/texts/say.ts';
import { z } from 'zod';
import { askAudioServer, reasonIn, RETRY_MS } from './audio-server.ts';
import { parseJson } from '../lib/json/json.ts';
import type { TranscriptionSettings } from './settings.ts';

const Spoken = z.looseObject({ text: z.string() });

/** Largest recording that is sent, in bytes: OpenAI's limit, which other servers adopted. */
export const MAX_RECORDING_BYTES = 25 * 1024 * 1024;
/** Longest text of a recording, in UTF-16 units; a longer one loses its middle, which the text says. */
export const MAX_SPOKEN_CHARS = 50_000;
/** Longest time for one recording, in milliseconds. */
const TRANSCRIBE_MS = 600_000;
/** By content type; servers detect the format of a file by its extension. */
const ENDINGS: Readonly<Record<string, string>> = {
  'audio/ogg': 'ogg',
  'audio/opus': 'ogg',
  'application/ogg': 'ogg',
  'audio/mpeg': 'mp3',
  'audio/mp4': 'm4a',
  'audio/x-m4a': 'm4a',
  'audio/aac': 'aac',
  'audio/wav': 'wav',
  'audio/vnd.wave': 'wav',
  'audio/x-wav': 'wav',
  'audio/webm': 'webm',
  'audio/flac': 'flac',
  'audio/x-flac': 'flac',
  'video/mp4': 'mp4',
  'video/webm': 'webm',
};

export interface TranscriberDeps {
  settings: TranscriptionSettings;
  /** Secret. */
  apiKey: string | undefined;
  metered: MeterCall;
  log: Log;
  limits?: { totalMs?: number; retryMs?: number };
}

/** Makes the transcriber; nothing is requested before its first recording. */
export function createTranscriber({
  settings,
  apiKey,
  metered,
  log,
  limits = {},
}: TranscriberDeps): Transcriber {
  const options = {
    totalMs: limits.totalMs ?? TRANSCRIBE_MS,
    retryMs: limits.retryMs ?? RETRY_MS,
    slow: (count: number) => textRef('hear.too_slow', { count }),
    unreachable: (reason: string) => textRef('hear.unreachable', { reason }),
    onRetry: (err: unknown) => log.warn({ err }, 'transcription_delayed'),
  };
  const transcript: Transcriber['transcript'] = async (recording, request, signal) => {
    await checkSize(recording, settings);
    return await metered(
      { purpose: 'speech', model: settings.model, input: request.prompt ?? '', person: recording.userId },
      () => askAudioServer(options, (until) => ask(recording, request, settings, apiKey, until), signal),
      ({ text }) => text,
    );
  };
  return {
    transcript,
    transcribe: async (recording, signal) =>
      clipMiddle((await transcript(recording, {}, signal)).text, MAX_SPOKEN_CHARS),
  };
}

/** Throws `GatewayError('too_large')` for what no server would accept. */
async function checkSize(
  { path, seconds = 0 }: Recording,
  { maxMinutes }: TranscriptionSettings,
): Promise<void> {
  if (seconds > maxMinutes * 60) {
    throw new GatewayError('too_large', textRef('hear.too_long', { count: maxMinutes }));
  }
  if ((await stat(path)).size > MAX_RECORDING_BYTES)
    throw new GatewayError('too_large', textRef('hear.too_large'));
}

/** One request. Throws `GatewayError`. */
async function ask(
  { path, mimeType }: Recording,
  { language: requestLanguage, prompt, temperature, verbose }: TranscriptRequest,
  settings: TranscriptionSettings,
  apiKey: string | undefined,
  signal: AbortSignal,
): Promise<Transcript> {
  const { baseUrl, model } = settings;
  const language = requestLanguage ?? settings.language;
  const answer = await postForm(
    {
      url: `${stripEnd(baseUrl, '/')}/audio/transcriptions`,
      headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
      fields: {
        model,
        response_format: verbose === true ? 'verbose_json' : 'json',
        ...(language !== undefined && { language }),
        ...(prompt !== undefined && { prompt }),
        ...(temperature !== undefined && { temperature: String(temperature) }),
      },
      // The sender's file name is none of the server's business.
      file: { path, name: `recording.${ENDINGS[mimeType.split(';')[0] ?? ''] ?? 'ogg'}`, mimeType },
    },
    signal,
  );
  if (answer.status === 200) return readTranscript(answer.body);
  throw refusalOf(answer, model);
}

/** What is said in a recording. Throws `GatewayError('bad_response')`. */
function readTranscript(body: string): Transcript {
  const read = Spoken.safeParse(parseJson(body));
  if (read.success) return read.data;
  throw new GatewayError('bad_response', textRef('hear.no_transcript'));
}

/** The error for an answer with a status other than 200. */
function refusalOf({ status, body, retryAfterMs }: FormAnswer, model: string): GatewayError {
  const reason = reasonIn(body);
  if (status === 401 || status === 403) return new GatewayError('unauthorized', textRef('hear.unauthorized'));
  if (status === 404) return new GatewayError('not_found', textRef('hear.not_found', { model, reason }));
  if (status === 413) return new GatewayError('too_large', textRef('hear.refused_large'));
  if (status === 429)
    return new GatewayError('rate_limited', textRef('hear.busy'), {
      retryable: true,
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    });
  if (status >= 500)
    return new GatewayError('unavailable', textRef('hear.broken', { status, reason }), {
      retryable: true,
    });
  if (status >= 400) return new GatewayError('unreadable', textRef('hear.unreadable', { reason }));
  return new GatewayError('bad_response', textRef('hear.odd_status', { status }));
}

/** Largest answer that is read, in bytes. */
export const MAX_ANSWER_BYTES = 1_000_000;

interface Form {
  url: string;
  headers: Record<string, string>;
  fields: Record<string, string>;
  file: { path: string; name: string; mimeType: string };
}

interface FormAnswer {
  status: number;
  body: string;
  retryAfterMs?: number | undefined;
}

/** Throws the connection's error, the signal's, or `GatewayError('bad_response')` for an endless answer. */
async function postForm({ url, headers, fields, file }: Form, signal: AbortSignal): Promise<FormAnswer> {
  const boundary = `parley-${randomBytes(16).toString('hex')}`;
  const head = Buffer.from(
    [
      ...Object.entries(fields).map(([name, value]) => part(boundary, `name="${name}"`, value)),
      part(boundary, `name="file"; filename="${file.name}"\r\nContent-Type: ${file.mimeType}`, ''),
    ].join('\r\n'),
  );
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  const { size } = await stat(file.path);
  const open = url.startsWith('http:') ? httpRequest : httpsRequest;
  const call = open(url, {
    method: 'POST',
    signal,
    headers: {
      ...headers,
      accept: 'application/json',
      'content-type': `multipart/form-data; boundary=${boundary}`,
      'content-length': head.length + size + tail.length,
    },
  });
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  call.on('response', resolve);
  call.on('error', reject);
  const body = async function* (): AsyncGenerator<Uint8Array> {
    yield head;
    yield* createReadStream(file.path) as AsyncIterable<Uint8Array>;
    yield tail;
  };
  // A server may refuse a recording before it has received all of it: then its answer counts, not the broken
  // connection.
  pipeline(body, call).catch(reject);
  return await readAnswer(await promise);
}

function part(boundary: string, disposition: string, value: string): string {
  return `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${value}`;
}

async function readAnswer(response: IncomingMessage): Promise<FormAnswer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MAX_ANSWER_BYTES) throw new GatewayError('bad_response', textRef('hear.endless'));
    chunks.push(chunk);
  }
  const seconds = Number(response.headers['retry-after']);
  return {
    status: response.statusCode ?? 0,
    body: Buffer.concat(chunks).toString('utf8'),
    ...(seconds > 0 && { retryAfterMs: seconds * 1_000 }),
  };
}
