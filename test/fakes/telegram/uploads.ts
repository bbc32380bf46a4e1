/** Files that the bot sends: read from the form and checked as the Bot API server and Telegram behind it do. */
import { type FormPart, readMultipart } from '../multipart.ts';
import { badRequest, type Params, Refusal, textOf } from './refusal.ts';

/** A file on screen, as it was sent. */
export interface FakeFile {
  /** What it is shown as. */
  as: 'photo' | 'document' | 'voice' | 'audio' | 'video';
  name: string;
  bytes: Buffer;
}

/** The methods that send a file, and the field that contains it. */
export const UPLOADS: ReadonlyMap<string, FakeFile['as']> = new Map([
  ['sendPhoto', 'photo'],
  ['sendDocument', 'document'],
  ['sendVoice', 'voice'],
  ['sendAudio', 'audio'],
  ['sendVideo', 'video'],
]);

/** Longest caption, in UTF-16 units after entity parsing. */
export const MAX_CAPTION = 1_024;

/** Largest upload (Bot API, "Sending files"). */
const MAX_UPLOAD = 50 * 1024 * 1024;
const MAX_PHOTO = 10 * 1024 * 1024;
/** For a photo: width and height together, and how much longer one side may be. */
const MAX_SIDES = 10_000;
const MAX_RATIO = 20;

/** The files of each form, by the name that `attach://` refers to. */
const filesOf = new WeakMap<Params, ReadonlyMap<string, FormPart>>();

/** The parameters of a form. Throws the server's refusals. */
export function readForm(contentType: string, body: Buffer): Params {
  if (body.length > MAX_UPLOAD) throw new Refusal(413, 'Request Entity Too Large');
  const parts = readMultipart(contentType, body);
  const values = parts.filter(({ filename }) => filename === undefined);
  const files = parts.filter(({ filename }) => filename !== undefined);
  const params: Params = Object.fromEntries(
    values.map(({ name, bytes }) => [name, valueOf(bytes.toString())]),
  );
  filesOf.set(params, new Map(files.map((part) => [part.name, part])));
  return params;
}

/** Objects and lists arrive as JSON; anything else is text. */
function valueOf(text: string): unknown {
  return /^[[{]/.test(text) ? JSON.parse(text) : text;
}

/** The file of a call that sends one. Throws the server's refusals. */
export function readUpload(as: FakeFile['as'], params: Params): FakeFile {
  const reference = textOf(params[as]);
  const part = filesOf.get(params)?.get(reference.replace(/^attach:\/\//, ''));
  if (reference === '') throw badRequest(`there is no ${as} in the request`);
  if (part === undefined)
    throw badRequest('wrong remote file identifier specified: Wrong padding in the string');
  const { bytes, filename = '' } = part;
  if (bytes.length === 0) throw badRequest('file must be non-empty');
  if (as === 'photo') checkPhoto(bytes);
  return { as, name: filename, bytes };
}

function checkPhoto(bytes: Buffer): void {
  if (bytes.length > MAX_PHOTO)
    throw badRequest(
      `file of size ${bytes.length} bytes is too big for a photo; the maximum size is ${MAX_PHOTO} bytes`,
    );
  const size = sizeOf(bytes);
  if (size === undefined) throw badRequest('IMAGE_PROCESS_FAILED');
  const [width, height] = size;
  const ratio = Math.max(width, height) / Math.max(1, Math.min(width, height));
  if (width + height > MAX_SIDES || ratio > MAX_RATIO) throw badRequest('PHOTO_INVALID_DIMENSIONS');
}

/** Width and height of a PNG; any JPEG counts as 100 by 100. Undefined for anything that is not an image. */
function sizeOf(bytes: Buffer): [number, number] | undefined {
  if (bytes.subarray(0, 8).toString('latin1') === '\x89PNG\r\n\x1A\n' && bytes.length >= 24)
    return [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
  return bytes.subarray(0, 3).toString('hex') === 'ffd8ff' ? [100, 100] : undefined;
}
