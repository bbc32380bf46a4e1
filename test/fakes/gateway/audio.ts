/** Speech for callers of the API over servers that a test starts; without them, as a gateway whose settings name none. */
import type { AudioApi } from '../../../src/protocol/file-api.ts';
import { createSpeech, createTranscriber, speechRule, transcriptionRule } from '../../../src/media/index.ts';
import { createTranscribe } from '../../../src/media/recordings.ts';
import { silentLog } from '../../database.ts';
import { FILE_LIMITS } from './files.ts';

const { maxFileBytes } = FILE_LIMITS;
const keyless = { apiKey: undefined, apiKeyEnv: undefined };

/** The API over the servers at these addresses. */
export function speechBy(urls: { transcription?: string; speech?: string }): AudioApi {
  const speaks = urls.speech && { ...speechRule.parse({ baseUrl: urls.speech }), ...keyless };
  const hears = urls.transcription && transcriptionRule.parse({ baseUrl: urls.transcription });
  const unused = () => {
    throw new Error('nothing is spoken after a turn here');
  };
  const { speak } = createSpeech({
    settings: () => speaks || undefined,
    service: { request: fetch, close: () => Promise.resolve() },
    log: silentLog,
    ledger: { session: unused, turn: unused, updateSession: unused },
    lanes: { finish: unused },
    files: { put: unused, read: unused },
    fileTypeOf: unused,
    keptFiles: { keep: unused },
    post: unused,
    events: { emit: unused },
    languages: { say: unused, languageOf: unused },
  });
  const transcriber = hears
    ? createTranscriber({ settings: hears, apiKey: undefined, log: silentLog })
    : undefined;
  return { transcribe: createTranscribe({ transcriber, maxFileBytes }), speak };
}
