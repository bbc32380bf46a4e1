/** What is said in recordings, if a transcriber is set up. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { toGatewayError } from '../protocol/errors.ts';
import type { MediaKind, ReceivedFile, Recording, Transcriber } from '../protocol/media.ts';
import { inEnglish, textRef, type TextRef } from '../protocol/texts/say.ts';

/** What is said in a recording, or why that is unknown. */
export type Heard = Pick<ReceivedFile, 'spoken' | 'problem' | 'problemText'>;

/** True for sound. */
export function isSpeech(kind: MediaKind, mimeType: string): boolean {
  return kind === 'voice' || kind === 'audio' || mimeType.startsWith('audio/');
}

/** Transcribes a recording on this node. Throws only the signal's reason. */
export async function listen(
  transcriber: Pick<Transcriber, 'transcribe'> | undefined,
  recording: () => Promise<Recording>,
  signal: AbortSignal,
): Promise<Heard> {
  if (transcriber === undefined) return problemOf(textRef('hear.none'));
  try {
    const spoken = (await transcriber.transcribe(await recording(), signal)).trim();
    return spoken === '' ? problemOf(textRef('hear.nothing')) : { spoken };
  } catch (error) {
    signal.throwIfAborted();
    const { textRef: ref, message } = toGatewayError(error);
    return problemOf(textRef('hear.failed', { why: ref ?? message }));
  }
}

/** A problem for both of its readers. */
export function problemOf(problemText: TextRef): { problem: string; problemText: TextRef } {
  return { problem: inEnglish.text(problemText), problemText };
}

/**
 * Transcribes a recording that is not stored. Throws the signal's reason, or the error of a disk that cannot be
 * written.
 */
export async function listenTo(
  transcriber: Pick<Transcriber, 'transcribe'> | undefined,
  { bytes, ...recording }: Omit<Recording, 'path'> & { bytes: Uint8Array },
  signal: AbortSignal,
): Promise<Heard> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'parley-heard-'));
  try {
    const place = path.join(folder, 'recording');
    await writeFile(place, bytes, { mode: 0o600 });
    return await listen(transcriber, async () => ({ ...recording, path: place }), signal);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
