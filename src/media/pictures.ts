/** Pictures of sessions' folders, in the form that model servers accept. */
import { toGatewayError } from '../protocol/errors.ts';
import type { Log } from '../protocol/log.ts';
import type { Pictures } from '../protocol/media.ts';
import { readWhole } from './fetch-file.ts';
import type { SessionFiles } from '../protocol/agent/tool.ts';

/** Resized pictures stay below this even at the maximum side length. */
const MAX_PICTURE_BYTES = 4_000_000;

/** Makes `Pictures`. */
export function createPictures(files: Pick<SessionFiles, 'read'>, log: Log): Pictures {
  return async (ref) => {
    const slash = ref.indexOf('/');
    try {
      const bytes = await readWhole(files, ref.slice(0, slash), ref.slice(slash + 1), MAX_PICTURE_BYTES);
      return bytes && { mimeType: 'image/jpeg', base64: bytes.toString('base64') };
    } catch (error) {
      log.warn({ err: toGatewayError(error) }, 'picture_not_read');
      return undefined;
    }
  };
}
