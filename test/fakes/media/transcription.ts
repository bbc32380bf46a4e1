/** A speech-to-text server with OpenAI's API, as strict as the real ones: same fields, keys and files refused. */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';

const FIELDS = ['file', 'model', 'response_format', 'language', 'prompt', 'temperature'];
/** Formats by a file's extension, and how their bytes begin. */
const FORMATS: Readonly<Record<string, RegExp>> = {
  ogg: /^OggS/,
  mp3: /^(ID3|\xff[\xe0-\xff])/,
  wav: /^RIFF/,
  flac: /^fLaC/,
  m4a: /^.{4}ftyp/s,
  mp4: /^.{4}ftyp/s,
  webm: /^.E\xdf\xa3/s,
};

/** A recording that was transcribed. */
export interface Heard {
  model: string;
  language: string | undefined;
  name: string;
  bytes: Buffer;
}

export interface FakeTranscription {
  /** For `transcription.baseUrl`. */
  readonly url: string;
  readonly heard: Heard[];
  /** The transcripts of the next recordings, by their bytes; default "(nothing)". */
  says(bytes: Uint8Array, text: string): void;
  /** The next answer has this status and body; `silence` is none at all. */
  fails(status: number | 'silence', body?: string, headers?: Record<string, string>): void;
  close(): Promise<void>;
}

/** `key`: the only one that is accepted; undefined accepts everyone. */
export async function startFakeTranscription(key?: string): Promise<FakeTranscription> {
  const heard: Heard[] = [];
  const texts = new Map<string, string>();
  const failures: [number | 'silence', string, Record<string, string>][] = [];

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    const answer = (status: number, json: object): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json));
    };
    const refuse = (status: number, message: string): void =>
      answer(status, { error: { message, code: status } });
    const failure = failures.shift();
    if (failure?.[0] === 'silence') return;
    if (failure !== undefined) {
      const [status, text, headers] = failure;
      response.writeHead(status, headers).end(text);
      return;
    }
    if (key !== undefined && request.headers.authorization !== `Bearer ${key}`) {
      refuse(401, 'Invalid API key');
      return;
    }
    if (request.method !== 'POST' || request.url !== '/v1/audio/transcriptions') {
      refuse(404, 'Not Found');
      return;
    }
    const form = await readForm(request.headers, body);
    const stray = [...form.keys()].find((name) => !FIELDS.includes(name));
    const file = form.get('file');
    const model = form.get('model');
    if (stray !== undefined || !(file instanceof File) || typeof model !== 'string') {
      refuse(422, `Field required or unknown: ${stray ?? 'file, model'}`);
      return;
    }
    const bytes = Buffer.from(await file.arrayBuffer());
    const ending = file.name.split('.').at(-1) ?? '';
    if (FORMATS[ending]?.test(bytes.toString('latin1')) !== true) {
      refuse(400, 'Invalid file format. Supported formats: flac, m4a, mp3, mp4, ogg, wav, webm');
      return;
    }
    const language = form.get('language');
    heard.push({
      model,
      language: typeof language === 'string' ? language : undefined,
      name: file.name,
      bytes,
    });
    answer(200, { text: texts.get(bytes.toString('latin1')) ?? '(nothing)' });
  }

  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      response.destroy(error instanceof Error ? error : new Error(String(error)));
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const bound = server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : 0;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    heard,
    says: (bytes, text) => void texts.set(Buffer.from(bytes).toString('latin1'), text),
    fails: (status, body = '', headers = {}) => void failures.push([status, body, headers]),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}

/** The runtime's own reader: it refuses an incomplete form. */
async function readForm(headers: IncomingMessage['headers'], body: Buffer): Promise<FormData> {
  const type = headers['content-type'] ?? '';
  return await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData();
}
