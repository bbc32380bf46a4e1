/** Text to speech by a server with OpenAI's API, such as Speaches, Kokoro-FastAPI or vLLM. */
import { GatewayError } from '../protocol/errors.ts';
import type { Log } from '../protocol/log.ts';
import type { ServiceFetch } from '../protocol/agent/tool.ts';
import { clipEnd, oneLine } from '../lib/text.ts';
import { textRef } from '../protocol/texts/say.ts';
import { askAudioServer, reasonIn, RETRY_MS } from './audio-server.ts';
import type { SpeechSettings } from './settings.ts';

/** Longest time for one answer, in milliseconds. */
const SPEAK_MS = 180_000;
/** The server, and how it speaks. */
export interface Voice extends Omit<SpeechSettings, 'format'> {
  format: string;
  /** 1, or undefined, is the usual speed. */
  speed?: number | undefined;
}

/** The sound of a text. Throws `GatewayError`, or the reason of `signal`. */
export type Synthesize = (text: string, voice: Voice, signal: AbortSignal) => Promise<Uint8Array>;

/** Makes `Synthesize`. */
export function createSynthesize(
  request: ServiceFetch['request'],
  log: Log,
  totalMs = SPEAK_MS,
  retryMs = RETRY_MS,
): Synthesize {
  const options = {
    totalMs,
    retryMs,
    slow: (count: number) => textRef('speech.slow', { count }),
    unreachable: (code: string) => textRef('speech.unreachable', { code }),
    onRetry: (err: unknown) => log.debug({ err }, 'speech_delayed'),
  };
  return (text, settings, signal) =>
    askAudioServer(options, (until) => ask(request, text, settings, until), signal);
}

async function ask(
  request: ServiceFetch['request'],
  input: string,
  server: Voice,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const { baseUrl, model, voice, format, speed, apiKey } = server;
  const response = await request(`${baseUrl}/audio/speech`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
    },
    body: JSON.stringify({ model, voice, input, response_format: format, speed }),
    signal,
  });
  const { status, headers } = response;
  const bytes = new Uint8Array(await response.arrayBuffer());
  if (status !== 200) throw refusalOf({ status, headers, bytes }, server);
  const isSound = /^(audio\/|application\/(ogg|octet-stream))/i.test(headers.get('content-type') ?? '');
  if (isSound && bytes.length > 0) return bytes;
  throw new GatewayError('bad_response', textRef('speech.no_sound'));
}

/** The error for an answer with a status other than 200. */
function refusalOf(
  { status, headers, bytes }: { status: number; headers: Headers; bytes: Uint8Array },
  { model, voice, apiKeyEnv }: Voice,
): GatewayError {
  const reason = reasonIn(Buffer.from(bytes).toString('utf8'));
  if (status === 401 || status === 403) {
    const text =
      apiKeyEnv === undefined ? textRef('speech.no_key') : textRef('speech.bad_key', { name: apiKeyEnv });
    return new GatewayError('unauthorized', text);
  }
  if (status === 429) {
    const seconds = Number(headers.get('retry-after'));
    return new GatewayError('rate_limited', textRef('speech.busy'), {
      retryable: true,
      ...(seconds > 0 && { retryAfterMs: seconds * 1_000 }),
    });
  }
  if (status >= 500)
    return new GatewayError('unavailable', textRef('speech.failed', { status, reason }), {
      retryable: true,
    });
  const names = { model: clipEnd(oneLine(model), 80), voice: clipEnd(oneLine(voice), 80) };
  if (status >= 400) return new GatewayError('refused', textRef('speech.refused', { ...names, reason }));
  return new GatewayError('bad_response', textRef('speech.odd_status', { status }));
}
