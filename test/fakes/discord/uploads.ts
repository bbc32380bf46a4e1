/** Files that come with a message of the bot: read from the form and checked as Discord does. */
import { readMultipart } from '../multipart.ts';
import { invalidForm } from './form.ts';
import { type DiscordPlatform, Refusal } from './platform.ts';

/** A file on screen, as it was sent. */
export interface FakeFile {
  name: string;
  bytes: Buffer;
}

export const FLAG_VOICE_MESSAGE = 1 << 13;

/** Largest request with files in a channel without boosts (Discord's documentation, "Uploading Files"). */
const MAX_UPLOAD = 10 * 1024 * 1024;

/** The JSON of a form, and its files by number. Throws Discord's refusals. */
export function readForm(contentType: string, body: Buffer): { json: string; files: Map<string, FakeFile> } {
  const files = new Map<string, FakeFile>();
  let json = '';
  for (const { name, filename, bytes } of readMultipart(contentType, body)) {
    const [, id] = /^files\[(\d+)\]$/.exec(name) ?? [];
    if (name === 'payload_json') json = bytes.toString();
    else if (id !== undefined && filename !== undefined) files.set(id, { name: filename, bytes });
    else throw invalidForm(name, 'BASE_TYPE_BAD_KEY', 'Unknown field.');
  }
  const total = [...files.values()].reduce((sum, file) => sum + file.bytes.length, 0);
  if (total > MAX_UPLOAD) throw new Refusal(413, 40_005, 'Request entity too large');
  return { json, files };
}

/** The attachments of a new message. Throws Discord's refusals. */
export function attachmentsOf(
  platform: DiscordPlatform,
  body: Record<string, unknown>,
  files: ReadonlyMap<string, FakeFile>,
): object[] {
  const described = Array.isArray(body.attachments) ? (body.attachments as Record<string, unknown>[]) : [];
  for (const { id } of described)
    if (!files.has(String(id)))
      throw invalidForm('attachments', 'ATTACHMENT_NOT_FOUND', 'Attachment data not found');
  const isVoice = (Number(body.flags ?? 0) & FLAG_VOICE_MESSAGE) !== 0;
  if (isVoice) checkVoice(body, described, files);
  return [...files].map(([id, { name, bytes }]) => ({
    id: platform.newId(),
    filename: name,
    size: bytes.length,
    url: `https://cdn.discordapp.com/attachments/1/${id}/${encodeURIComponent(name)}`,
    ...(isVoice && { duration_secs: described[0]?.duration_secs, waveform: described[0]?.waveform }),
  }));
}

/** A voice message is one audio file with its length and waveform, and nothing else. */
function checkVoice(
  body: Record<string, unknown>,
  [described]: Record<string, unknown>[],
  files: ReadonlyMap<string, FakeFile>,
): void {
  if (typeof body.content === 'string' && body.content !== '')
    throw new Refusal(400, 50_159, 'Voice messages do not support additional content');
  if (files.size !== 1) throw new Refusal(400, 50_160, 'Voice messages must have a single audio attachment');
  const { duration_secs: seconds, waveform } = described ?? {};
  if (typeof seconds !== 'number' || typeof waveform !== 'string' || waveform === '')
    throw new Refusal(400, 50_161, 'Voice messages must have supporting metadata');
}
