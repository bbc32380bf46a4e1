/** Speech to text over HTTP: what is sent, how each answer is handled, and where it ends. */
import { unmetered } from '../fakes/gateway/unmetered.ts';
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { GatewayError } from '../../src/protocol/errors.ts';
import {
  createTranscriber,
  MAX_ANSWER_BYTES,
  MAX_RECORDING_BYTES,
  MAX_SPOKEN_CHARS,
} from '../../src/media/transcriber.ts';
import { transcriptionRule } from '../../src/media/settings.ts';
import { silentLog } from '../database.ts';
import { type FakeTranscription, startFakeTranscription } from '../fakes/media/transcription.ts';
import { askInSilence, serviceErrorOf } from '../fakes/media/service-errors.ts';
import { startRawServer } from '../fakes/network/raw-server.ts';

const KEY = 'key-of-the-speech-server';
const VOICE = Buffer.from('OggS and some sound');

let server: FakeTranscription;
let folder: string;
let voice: string;

beforeEach(async () => {
  server = await startFakeTranscription(KEY);
  folder = await mkdtemp(path.join(tmpdir(), 'parley-speech-'));
  voice = path.join(folder, 'voice');
  await writeFile(voice, VOICE);
});
afterEach(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

interface Asked {
  settings?: object;
  apiKey?: string;
  totalMs?: number;
  mimeType?: string;
  seconds?: number;
  signal?: AbortSignal;
}

/** The text of the recording. */
async function ask({ settings, apiKey = KEY, totalMs = 5_000, ...asked }: Asked = {}): Promise<string> {
  const transcriber = createTranscriber({
    metered: unmetered,
    settings: transcriptionRule.parse({ baseUrl: server.url, ...settings }),
    apiKey,
    log: silentLog,
    limits: { totalMs, retryMs: 1 },
  });
  const { mimeType = 'audio/ogg', seconds, signal = new AbortController().signal } = asked;
  return await transcriber.transcribe({ path: voice, name: 'my secret.exe', mimeType, seconds }, signal);
}

/** The error of a recording that cannot be transcribed; it reveals neither key nor address. */
function failure(asked: Asked = {}): Promise<GatewayError> {
  return serviceErrorOf(ask(asked), KEY);
}

describe('a recording', () => {
  it('is sent whole with model and language, under a name that reveals only its format', async () => {
    server.says(VOICE, 'Good morning');
    expect(await ask({ settings: { model: 'large', language: 'de' } })).toBe('Good morning');
    expect(server.heard).toMatchObject([
      { model: 'large', language: 'de', name: 'recording.ogg', bytes: VOICE },
    ]);
  });

  it('is identified by its format, whatever its codec', async () => {
    await writeFile(voice, 'fLaC and some sound');
    await ask({ mimeType: 'audio/flac; codecs=flac' });
    expect(server.heard[0]?.name).toBe('recording.flac');
  });

  it('of several megabytes is sent as a stream, up to 25 MB', async () => {
    await truncate(voice, MAX_RECORDING_BYTES);
    // A slow machine needs more than the usual five seconds for so much.
    await ask({ totalMs: 60_000 });
    expect(server.heard[0]?.bytes).toHaveLength(MAX_RECORDING_BYTES);
    await truncate(voice, MAX_RECORDING_BYTES + 1);
    expect(await failure()).toMatchObject({ code: 'too_large', retryable: false });
    expect(server.heard).toHaveLength(1);
  }, 90_000);

  it('is not sent when it is longer than allowed', async () => {
    const settings = { maxMinutes: 1 };
    await ask({ settings, seconds: 60 });
    const { code, message } = await failure({ settings, seconds: 61 });
    expect([code, message]).toEqual(['too_large', expect.stringContaining('transcription.maxMinutes')]);
    expect(server.heard).toHaveLength(1);
  });

  it('with a lot of speech is cut in the middle, which the text says', async () => {
    server.says(VOICE, 'x'.repeat(MAX_SPOKEN_CHARS));
    expect(await ask()).toHaveLength(MAX_SPOKEN_CHARS);
    server.says(VOICE, 'x'.repeat(MAX_SPOKEN_CHARS + 1));
    expect(await ask()).toContain('[… 1 characters left out …]');
  });
});

describe('a speech-to-text server', () => {
  it('is retried when it is briefly down or busy', async () => {
    server.fails(503);
    server.fails(429, '', { 'retry-after': '0.01' });
    expect(await ask()).toBe('(nothing)');
  });

  it.each([
    [500, '', 'unavailable', /failed with status 500\.$/],
    [429, '', 'rate_limited', /too busy/],
    [404, '{"detail":"Not Found"}', 'not_found', /check transcription in config\.json: "Not Found"/],
    [413, '<html>', 'too_large', /too large/],
    [415, '{"error":"unknown\\ncodec"}', 'unreadable', /cannot read this recording: "unknown codec"/],
    [302, '', 'bad_response', /transcription\.baseUrl/],
    [200, '<html>', 'bad_response', /transcription\.baseUrl/],
    [200, '{"text":1}', 'bad_response', /transcription\.baseUrl/],
    [200, `{"text":"${'x'.repeat(MAX_ANSWER_BYTES)}"}`, 'bad_response', /answer that is too long/],
  ])('that answers with status %i and %.30s is %s', async (status, body, code, message) => {
    for (let n = 0; n < 3; n += 1) server.fails(status, body);
    expect(await failure()).toMatchObject({ code, message: expect.stringMatching(message) });
  });

  it('has distinguishable refusals: the key, and a format that it does not know', async () => {
    expect((await failure({ apiKey: 'wrong' })).message).toContain('TRANSCRIPTION_API_KEY');
    await writeFile(voice, 'no sound at all');
    expect(await failure()).toMatchObject({
      code: 'unreadable',
      message: expect.stringContaining('Supported formats'),
    });
  });

  it('is abandoned when it falls silent, and immediately when the turn is stopped', async () => {
    const { late, stopped } = await askInSilence(server, { ask, failure });
    expect(late).toMatchObject({ code: 'timeout' });
    expect(stopped).toEqual(new Error('stopped'));
  });

  it('is reported with the setting when it cannot be reached or hangs up', async () => {
    await server.close();
    expect(await failure()).toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('ECONNREFUSED'),
    });
    const raw = await startRawServer();
    onTestFinished(() => raw.close());
    raw.reply = Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"text"');
    expect((await failure({ settings: { baseUrl: raw.url } })).message).toContain('transcription.baseUrl');
    server = await startFakeTranscription();
  });
});

describe('the settings', () => {
  it.each([
    [{ baseUrl: 'ftp://x' }],
    [{ baseUrl: 'http://x', language: 'German' }],
    [{ baseUrl: 'http://x', maxMinutes: 0 }],
    [{ baseUrl: 'http://x', url: 'y' }],
    [{}],
  ])('refuse %j', (settings) => {
    expect(transcriptionRule.safeParse(settings).success).toBe(false);
  });
});
