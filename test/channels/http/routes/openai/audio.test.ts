/** Speech over the API: by the servers of the settings, with OpenAI's own client. */
import OpenAI, { toFile } from 'openai';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MAX_SPOKEN_TEXT } from '../../../../../channels/http/model-apis/audio.ts';
import { speechBy } from '../../../../fakes/gateway/audio.ts';
import { FILE_LIMITS } from '../../../../fakes/gateway/files.ts';
import { ADMIN, CHAT } from '../../../../fakes/gateway/gateway-api.ts';
import { OGG, PNG } from '../../../../fakes/media/media-bytes.ts';
import { type FakeSpeech, startFakeSpeech } from '../../../../fakes/media/speech.ts';
import { type FakeTranscription, startFakeTranscription } from '../../../../fakes/media/transcription.ts';
import { openApi, type OpenApi } from '../../client.ts';

let api: OpenApi;
let ears: FakeTranscription;
let mouth: FakeSpeech;
let client: OpenAI;

beforeEach(async () => {
  [api, ears, mouth] = await Promise.all([openApi(), startFakeTranscription(), startFakeSpeech()]);
  api.gateway.audio = speechBy({ transcription: ears.url, speech: mouth.url });
  ears.says(OGG, 'Hello there.');
  client = new OpenAI({ baseURL: `${api.url}/v1`, apiKey: CHAT.slice('Bearer '.length), maxRetries: 0 });
});
afterEach(async () => {
  await Promise.all([api.close(), ears.close(), mouth.close()]);
});

const recording = () => toFile(OGG, 'note.ogg');
const named = { model: 'any' };

/** A form with the recording, and these fields before or after it. */
async function form(fields: Record<string, string>, bytes: Uint8Array<ArrayBuffer> = new Uint8Array(OGG)) {
  const data = new FormData();
  data.append('file', new Blob([bytes]), 'note.ogg');
  for (const [name, value] of Object.entries(fields)) data.append(name, value);
  const response = await fetch(`${api.url}/v1/audio/transcriptions`, {
    method: 'POST',
    body: data,
    headers: { authorization: ADMIN },
  });
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
}

describe('a transcription', () => {
  it('is JSON, a text, or all that the server knows', async () => {
    const ask = async (response_format: 'json' | 'text' | 'verbose_json') =>
      await client.audio.transcriptions.create({ file: await recording(), ...named, response_format });
    expect(await ask('json')).toEqual({ text: 'Hello there.' });
    expect(await ask('text')).toBe('Hello there.\n');
    expect(await ask('verbose_json')).toMatchObject({
      text: 'Hello there.',
      duration: 1.5,
      segments: [{ start: 0, end: 1.5, text: 'Hello there.' }],
    });
    expect(ears.heard.map(({ fields }) => fields['response_format'])).toEqual([
      'json',
      'json',
      'verbose_json',
    ]);
  });

  it('passes language, prompt and temperature on, also when they follow the file', async () => {
    const fields = { language: 'de', prompt: 'Parley, Perroquet', temperature: '0.2' };
    expect(await form(fields)).toMatchObject({ status: 200, text: '{"text":"Hello there."}' });
    expect(ears.heard[0]).toMatchObject({ fields: { ...fields, response_format: 'json' }, bytes: OGG });
  });

  it.each([
    [{ response_format: 'srt' }, 'response_format'],
    [{ stream: 'true' }, 'stream'],
    [{ 'timestamp_granularities[]': 'word' }, 'timestamp_granularities[]'],
    [{ language: 'German' }, 'language'],
    [{ hotwords: 'x' }, 'hotwords'],
  ])('refuses %o by name', async (fields, param) => {
    const { status, text } = await form(fields);
    expect([status, JSON.parse(text).error.param]).toEqual([400, param]);
    expect(ears.heard).toEqual([]);
  });

  it('refuses anything that is not a recording, or is too long, empty or not a form', async () => {
    const code = async (asked: ReturnType<typeof form>) => {
      const { status, text } = await asked;
      return [status, JSON.parse(text).error.code];
    };
    expect(await code(form({}, new Uint8Array(PNG)))).toEqual([400, 'unreadable_file']);
    expect(await code(form({}, new Uint8Array()))).toEqual([400, 'empty_file']);
    const { maxFileBytes } = FILE_LIMITS;
    expect(await code(form({}, new Uint8Array(maxFileBytes + 1)))).toEqual([413, 'file_too_large']);
    expect((await api.call('/v1/audio/transcriptions', { json: { file: 'x' } })).status).toBe(415);
  });

  it('repeats what the server said, with a status', async () => {
    ears.fails(404, '{"error":{"message":"no such model"}}', { 'content-type': 'application/json' });
    expect(await form({})).toMatchObject({ status: 502, text: expect.stringContaining('no such model') });
  });

  it('names the setting while no server is set', async () => {
    api.gateway.audio = speechBy({});
    expect(await form({})).toMatchObject({
      status: 501,
      text: expect.stringContaining('transcription.baseUrl in config.json'),
    });
  });

  it('needs a token', async () => {
    const { status } = await fetch(`${api.url}/v1/audio/transcriptions`, { method: 'POST' });
    expect(status).toBe(401);
  });
});

describe('speech', () => {
  it('is the sound of a text in the form, voice and speed that are asked for', async () => {
    const opus = await client.audio.speech.create({
      model: 'tts-1',
      input: 'Hello.',
      voice: 'nova',
      response_format: 'opus',
      speed: 1.5,
    });
    expect(opus.headers.get('content-type')).toBe('audio/ogg');
    expect(Buffer.from(await opus.arrayBuffer())).toEqual(OGG);
    const usual = await client.audio.speech.create({ model: 'tts-1', input: 'Again.', voice: 'alloy' });
    expect(usual.headers.get('content-type')).toBe('audio/mpeg');
    expect(mouth.spoken).toEqual([
      { model: 'tts-1', input: 'Hello.', voice: 'nova', response_format: 'opus', speed: 1.5 },
      { model: 'tts-1', input: 'Again.', voice: 'alloy', response_format: 'mp3' },
    ]);
  });

  it('speaks with the voice of the settings when none is named', async () => {
    expect((await api.call('/v1/audio/speech', { json: { input: 'Hi' } })).status).toBe(200);
    expect(mouth.spoken[0]).toMatchObject({ voice: 'alloy' });
  });

  it.each([
    [{ input: 'x', stream_format: 'sse' }, 400, 'stream_format'],
    [{ input: 'x', instructions: 'Speak softly.' }, 400, 'instructions'],
    [{ input: '' }, 400, 'input'],
    [{ input: 'x'.repeat(MAX_SPOKEN_TEXT + 1) }, 400, 'input'],
    [{ input: 'x', speed: 9 }, 400, 'speed'],
  ])('refuses %o by name', async (json, status, param) => {
    const answer = await api.call('/v1/audio/speech', { json });
    expect([answer.status, (await answer.json()).error.param]).toEqual([status, param]);
  });

  it('says which voice the server does not have, and names the setting while no server is set', async () => {
    const odd = await api.call('/v1/audio/speech', { json: { input: 'x', voice: 'nobody' } });
    expect([odd.status, (await odd.json()).error.message]).toEqual([400, expect.stringContaining('nobody')]);
    api.gateway.audio = speechBy({});
    const none = await api.call('/v1/audio/speech', { json: { input: 'x' } });
    expect([none.status, (await none.json()).error.message]).toEqual([
      501,
      expect.stringContaining('speech.baseUrl in config.json'),
    ]);
  });
});
