/** Text to speech over HTTP: what is requested, how each answer is handled, and where it ends. */
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { GatewayError } from '../../src/protocol/errors.ts';
import { configureSpeech, speechRule } from '../../src/media/settings.ts';
import { createSynthesize } from '../../src/media/speech-server.ts';
import { createServiceFetch } from '../../src/security/index.ts';
import { silentLog } from '../database.ts';
import { OGG } from '../fakes/media/media-bytes.ts';
import { askInSilence, serviceErrorOf } from '../fakes/media/service-errors.ts';
import { startRawServer } from '../fakes/network/raw-server.ts';
import { type FakeSpeech, startFakeSpeech } from '../fakes/media/speech.ts';

const KEY = 'key-of-the-speech-server';

let server: FakeSpeech;

beforeEach(async () => {
  server = await startFakeSpeech(KEY);
});
afterEach(() => server.close());

interface Asked {
  settings?: object;
  key?: string;
  totalMs?: number;
  signal?: AbortSignal;
  maxBytes?: number;
}

/** The sound of "Good morning.". */
async function ask(asked: Asked = {}): Promise<Uint8Array> {
  const { settings, key = KEY, totalMs = 5_000, signal = new AbortController().signal, maxBytes } = asked;
  const rule = speechRule.parse({ baseUrl: `${server.url}/`, apiKeyEnv: 'SPEECH_KEY', ...settings });
  const { speech } = configureSpeech(rule, { SPEECH_KEY: key });
  if (speech === undefined) throw new Error('no settings');
  const service = createServiceFetch(maxBytes);
  onTestFinished(() => service.close());
  const synthesize = createSynthesize((url, init) => service.request(url, init), silentLog, totalMs, 1);
  return await synthesize('Good morning.', speech, signal);
}

/** The error of a text that is not spoken; it reveals neither key nor address. */
function failure(asked: Asked = {}): Promise<GatewayError> {
  return serviceErrorOf(ask(asked), KEY);
}

describe('a text', () => {
  it('is sent with model, voice and format, and is returned as sound', async () => {
    const sound = await ask({ settings: { model: 'kokoro', voice: 'nova' } });
    expect(Buffer.from(sound)).toEqual(OGG);
    expect(server.spoken).toEqual([
      { model: 'kokoro', voice: 'nova', input: 'Good morning.', response_format: 'opus' },
    ]);
    expect(Buffer.from(await ask({ settings: { format: 'mp3' } })).toString()).toMatch(/^ID3/);
  });
});

describe('a text-to-speech server', () => {
  it('is retried when it is briefly down or busy', async () => {
    server.fails(503);
    server.fails(429, '', { 'retry-after': '0.01' });
    expect(Buffer.from(await ask())).toEqual(OGG);
  });

  it.each([
    [500, '', {}, 'unavailable', /failed with status 500\.$/],
    [429, '', {}, 'rate_limited', /too busy/],
    [404, '{"detail":"Not Found"}', {}, 'refused', /check speech in config\.json: "Not Found"/],
    [400, '{"error":{"message":"no such\\nvoice"}}', {}, 'refused', /voice "alloy".*"no such voice"/],
    [302, '', {}, 'bad_response', /speech\.baseUrl/],
    [200, '<html>', { 'content-type': 'text/html' }, 'bad_response', /speech\.baseUrl/],
    [200, '', { 'content-type': 'audio/ogg' }, 'bad_response', /speech\.baseUrl/],
  ])(
    'gets its own error for an answer with status %i and %.30s',
    async (status, body, headers, code, message) => {
      for (let n = 0; n < 3; n += 1) server.fails(status, body, headers);
      expect(await failure()).toMatchObject({ code, message: expect.stringMatching(message) });
    },
  );

  it('is reported with the variable of the key when it refuses the key', async () => {
    expect((await failure({ key: 'wrong' })).message).toContain('check SPEECH_KEY');
  });

  it('is read up to a limit when it sends more', async () => {
    expect(await ask({ maxBytes: OGG.length })).toHaveLength(OGG.length);
    expect(await failure({ maxBytes: OGG.length - 1 })).toMatchObject({ code: 'too_large' });
  });

  it('is abandoned when it falls silent, and immediately when the gateway stops', async () => {
    const { late, stopped } = await askInSilence(server, { ask, failure });
    expect(late).toMatchObject({ code: 'timeout' });
    expect(stopped).toEqual(new Error('stopped'));
  });

  it('is reported with the setting when it cannot be reached or hangs up', async () => {
    await server.close();
    expect((await failure()).message).toMatch(/ECONNREFUSED.*speech\.baseUrl/);
    const raw = await startRawServer();
    onTestFinished(() => raw.close());
    raw.reply = Buffer.from('HTTP/1.1 200 OK\r\nContent-Type: audio/ogg\r\nContent-Length: 100\r\n\r\nOggS');
    expect((await failure({ settings: { baseUrl: raw.url } })).message).toContain('speech.baseUrl');
    server = await startFakeSpeech();
  });
});

describe('the settings', () => {
  it.each([
    [{ baseUrl: 'ftp://x' }],
    [{ baseUrl: 'http://x', format: 'wav' }],
    [{ baseUrl: 'http://x', maxChars: 99 }],
    [{ baseUrl: 'http://x', maxChars: 4_097 }],
    [{ baseUrl: 'http://x', apiKeyEnv: 'A B' }],
    [{ baseUrl: 'http://x', url: 'y' }],
    [{}],
  ])('refuse %j', (settings) => {
    expect(speechRule.safeParse(settings).success).toBe(false);
  });

  it('name a variable that is not set, and one that cannot be sent in a header', () => {
    const file = speechRule.parse({ baseUrl: 'http://x', apiKeyEnv: 'SPEECH_KEY' });
    expect(configureSpeech(file, {}).errors).toEqual([
      'speech.apiKeyEnv: the environment variable SPEECH_KEY is not set',
    ]);
    expect(configureSpeech(file, { SPEECH_KEY: 'ä' }).errors).toEqual([
      'SPEECH_KEY: may hold only visible ASCII characters',
    ]);
  });
});
