/** A speech-to-text server with OpenAI's API, as strict as the real ones: same fields, keys and files refused. */
import type { IncomingMessage } from 'node:http';
import { type FailingServer, startFailingServer } from './failing-server.ts';

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
  /** The fields besides the file and the model. */
  fields: Record<string, string>;
  language: string | undefined;
  name: string;
  bytes: Buffer;
}

export interface FakeTranscription extends FailingServer {
  readonly heard: Heard[];
  /** The transcripts of the next recordings, by their bytes; default "(nothing)". */
  says(bytes: Uint8Array, text: string): void;
}

/** `key`: the only one that is accepted; undefined accepts everyone. */
export async function startFakeTranscription(key?: string): Promise<FakeTranscription> {
  const heard: Heard[] = [];
  const texts: [bytes: Uint8Array, text: string][] = [];
  const server = await startFailingServer('/audio/transcriptions', key, async (exchange) => {
    const { request, response, refuse } = exchange;
    const form = await readForm(request.headers, exchange.body);
    const stray = [...form.keys()].find((name) => !FIELDS.includes(name));
    const file = form.get('file');
    const model = form.get('model');
    if (stray !== undefined || !(file instanceof File) || typeof model !== 'string')
      return refuse(422, `Field required or unknown: ${stray ?? 'file, model'}`);
    const bytes = Buffer.from(await file.arrayBuffer());
    const ending = file.name.split('.').at(-1) ?? '';
    // Only the start: a recording may have many megabytes.
    if (FORMATS[ending]?.test(bytes.toString('latin1', 0, 16)) !== true)
      return refuse(400, 'Invalid file format. Supported formats: flac, m4a, mp3, mp4, ogg, wav, webm');
    const language = form.get('language');
    const fields = [...form].flatMap(([name, value]) =>
      typeof value === 'string' && name !== 'model' ? [[name, value]] : [],
    );
    heard.push({
      model,
      fields: Object.fromEntries(fields),
      language: typeof language === 'string' ? language : undefined,
      name: file.name,
      bytes,
    });
    const [, text = '(nothing)'] = texts.findLast(([spoken]) => bytes.equals(spoken)) ?? [];
    // openai/openai-openapi, CreateTranscriptionResponseVerboseJson.
    const details = { language: 'english', duration: 1.5, segments: [{ id: 0, start: 0, end: 1.5, text }] };
    const answer = form.get('response_format') === 'verbose_json' ? { ...details, text } : { text };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  return {
    ...server,
    heard,
    says: (bytes, text) => void texts.push([bytes, text]),
  };
}

/** The runtime's own reader: it refuses an incomplete form. */
async function readForm(headers: IncomingMessage['headers'], body: Buffer<ArrayBuffer>): Promise<FormData> {
  const type = headers['content-type'] ?? '';
  return await new Response(body, { headers: { 'content-type': type } }).formData();
}
