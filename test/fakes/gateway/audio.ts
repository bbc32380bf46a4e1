/** Speech for callers of the API over servers that a test starts; without them, as a gateway whose settings name none. */
import { unmetered } from './unmetered.ts';
import type { AudioApi } from '../../../src/protocol/file-api.ts';
import type { EventBus } from '../../../src/protocol/bus.ts';
import type { StoredFiles } from '../../../src/protocol/media.ts';
import type { LaneStore } from '../../../src/protocol/store/lanes.ts';
import type { SessionStore } from '../../../src/protocol/store/ledger.ts';
import type { PersonLanguages } from '../../../src/protocol/texts/languages.ts';
import type { SessionFiles } from '../../../src/protocol/agent/tool.ts';
import { createSpeech, createTranscriber, speechRule, transcriptionRule } from '../../../src/media/index.ts';
import { createTranscribe } from '../../../src/media/recordings.ts';
import { silentLog } from '../../database.ts';
import { partial } from '../partial.ts';
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
    metered: unmetered,
    settings: () => speaks || undefined,
    service: { request: fetch, close: () => Promise.resolve() },
    log: silentLog,
    ledger: partial<SessionStore>({ session: unused, turn: unused, updateSession: unused }),
    lanes: partial<LaneStore>({ finish: unused }),
    files: partial<SessionFiles>({ put: unused, read: unused }),
    fileTypeOf: unused,
    keptFiles: partial<StoredFiles>({ keep: unused }),
    post: unused,
    events: partial<EventBus>({ emit: unused }),
    languages: partial<PersonLanguages>({ say: unused, languageOf: unused }),
  });
  const transcriber = hears
    ? createTranscriber({ settings: hears, apiKey: undefined, metered: unmetered, log: silentLog })
    : undefined;
  return { ...createTranscribe(transcriber, maxFileBytes), speak };
}
