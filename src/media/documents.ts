/** The text of documents for the tool that pages through them: a document is read once, not for every page. */
import { createHash } from 'node:crypto';
import { GatewayError } from '../protocol/errors.ts';
import type { DocumentText } from '../protocol/media.ts';
import { Recent } from '../lib/recent.ts';
import type { Reader } from './reader/reader.ts';

/** Texts that are remembered, and for how long, in milliseconds. */
const MAX_REMEMBERED = 8;
const REMEMBERED_MS = 10 * 60_000;

/** Makes `DocumentText`. `monotonicNow` is a clock in milliseconds. */
export function createDocumentText(reader: Reader, monotonicNow: () => number): DocumentText {
  const remembered = new Recent<string>(REMEMBERED_MS, MAX_REMEMBERED, monotonicNow);
  return async (bytes, signal) => {
    const key = createHash('sha256').update(bytes).digest('hex');
    const known = remembered.get(key);
    if (known !== undefined) return known;
    const { text, problem, mimeType } = await reader(bytes, 'read_file', signal);
    if (problem !== undefined) throw new GatewayError('unreadable', problem);
    if (text === undefined) throw new GatewayError('no_text', `it is ${mimeType}, which holds no text`);
    remembered.set(key, text);
    return text;
  };
}
