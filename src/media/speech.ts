/**
 * The `speech:` lanes: a stored answer is spoken into a file of the session, which is then posted once. The text never
 * waits for it. After a crash, the file's name and the post's reference identify both.
 */
import { z } from 'zod';
import type { MeterCall } from '../protocol/agent/budgets.ts';
import type { EventBus, LaneHandler } from '../protocol/bus.ts';
import type { Post } from '../protocol/delivery.ts';
import { type Say, textRef } from '../protocol/texts/say.ts';
import { GatewayError, StoreError, ToolError } from '../protocol/errors.ts';
import { type AudioApi, type FileTypeOf, TYPE_HEAD_BYTES } from '../protocol/file-api.ts';
import type { Log } from '../protocol/log.ts';
import type { Attachment, StoredFiles } from '../protocol/media.ts';
import { type Address, addressOf, parseAddress, type SessionKey } from '../protocol/message.ts';
import type { LaneStore } from '../protocol/store/lanes.ts';
import type { SessionStore } from '../protocol/store/ledger.ts';
import type { SessionRecord } from '../protocol/store/records.ts';
import type { ServiceFetch, SessionFiles } from '../protocol/agent/tool.ts';
import type { SpeechSettings } from './settings.ts';
import { createSynthesize, type Synthesize } from './speech-server.ts';
import { spokenText } from './spoken-text.ts';
import { type PersonLanguages, recipientOf } from '../protocol/texts/languages.ts';
import { changeSession, type Command, ON_OR_OFF } from '../protocol/command.ts';

/** Largest sound of one answer, in bytes: what Discord accepts. */
export const MAX_SPEECH_BYTES = 10 * 1024 * 1024;

/** Owner of the files: they count for no person, and are removed by age like other files that were sent. */
const KEPT_FOR = 'sent';

/** As the end of a turn queues it. */
const payloadShape = z.object({ turnId: z.string().min(1), userId: z.string().optional() });

export interface SpeechContext {
  /** Undefined while no server is set. */
  settings(): SpeechSettings | undefined;
  synthesize: Synthesize;
  metered: MeterCall;
  ledger: SessionStore;
  lanes: LaneStore;
  files: SessionFiles;
  fileTypeOf: FileTypeOf;
  keptFiles: StoredFiles;
  post: Post;
  events: EventBus;
  languages: PersonLanguages;
  log: Log;
}

/** Makes the handler of `speech:` lanes. */
export function createSpeakAnswers(deps: SpeechContext): LaneHandler {
  return {
    async handle(head, signal) {
      const { turnId, userId } = payloadShape.parse(head.payload);
      await speakAnswer(
        deps,
        { turnId, userId, address: addressOf(parseAddress(head.lane.slice('speech:'.length))) },
        signal,
      );
      return { kind: 'finished', step: await deps.lanes.finish(head) };
    },
    onDeadLetter: async (head, error) => await deps.lanes.finish(head, error.message),
  };
}

interface Answer {
  turnId: string;
  /** Who was answered. */
  userId: string | undefined;
  address: Address;
}

/** Throws `StoreError` and the signal's reason; if the server fails, the chat is notified. */
async function speakAnswer(deps: SpeechContext, answer: Answer, signal: AbortSignal): Promise<void> {
  const { ledger, log } = deps;
  const turn = await ledger.turn(answer.turnId);
  const session = turn && (await ledger.session(turn.session));
  const settings = deps.settings();
  // The session may be gone, and `/voice off` or the settings may have changed since.
  if (turn?.final === undefined || session?.voice !== true || settings === undefined) return;
  const { text, isCut } = spokenText(turn.final.content, settings.maxChars);
  if (text === '') return;
  let file: Attachment;
  try {
    file = await spokenFile(deps, { ...answer, folder: session.folder, text, settings }, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof StoreError || !(error instanceof GatewayError)) throw error;
    log.warn({ err: error, turnId: answer.turnId, sessionKey: session.key }, 'answer_not_spoken');
    await tellOnce(deps, answer, session, error);
    return;
  }
  const content = isCut ? (await sayIn(deps, answer))('speech.beginning') : '';
  await postOnce(deps, answer, session.key, content, file, session.folder);
  if (session.voiceFailing) await ledger.updateSession(session.key, { voiceFailing: false });
}

/** Tells the chat once why there is no sound, until there is sound again. */
async function tellOnce(
  deps: SpeechContext,
  answer: Answer,
  session: SessionRecord,
  error: GatewayError,
): Promise<void> {
  if (session.voiceFailing) return;
  const say = await sayIn(deps, answer);
  const content = say('turn.not_spoken', { why: error.textRef ?? error.message });
  await postOnce(deps, answer, session.key, content);
  await deps.ledger.updateSession(session.key, { voiceFailing: true });
}

/** Returns the function that words texts for the answer's reader. Throws `StoreError`. */
async function sayIn({ languages }: SpeechContext, { address }: Answer): Promise<Say> {
  return languages.say(recipientOf(address, await languages.languageOf(address)));
}

/** Under one reference for the turn: even if this is repeated after a crash, the chat gets one message. */
async function postOnce(
  { post, events, log }: SpeechContext,
  { turnId, address }: Answer,
  session: SessionKey,
  content: string,
  file?: Attachment,
  folder?: string,
): Promise<void> {
  const result = await post({ ref: `${turnId}.speech`, turnId, address, content, file, folder });
  if (result.kind !== 'posted') {
    log.info({ turnId, address, result: result.kind }, 'speech_not_posted');
    return;
  }
  const attachments = file === undefined ? {} : { attachments: [file] };
  events.emit(session, { type: 'message_sent', seq: result.seq, content, ...attachments });
}

/** The sound as a file of the session; one left by an earlier attempt is reused. */
async function spokenFile(
  { synthesize, metered, files, fileTypeOf, keptFiles }: SpeechContext,
  about: Pick<Answer, 'turnId' | 'userId'> & { folder: string; text: string; settings: SpeechSettings },
  signal: AbortSignal,
): Promise<Attachment> {
  const { turnId, userId: person, folder, text, settings } = about;
  const speak = (): Promise<Uint8Array> =>
    metered({ purpose: 'speech', model: settings.model, input: text, person }, () =>
      synthesize(text, settings, signal),
    );
  const ending = settings.format === 'opus' ? 'ogg' : settings.format;
  const path = `outbox/${turnId}.speech.${ending}`;
  const bytes = (await bytesAt(files, folder, path)) ?? (await speak());
  const name = `answer.${ending}`;
  const { mimeType, kind } = await fileTypeOf(bytes.subarray(0, TYPE_HEAD_BYTES), name);
  if (kind !== 'audio') throw new GatewayError('bad_response', textRef('speech.no_sound'));
  const chunks = (async function* () {
    yield bytes;
  })();
  const { path: file, ...content } = await files.put(folder, {
    chunks,
    maxBytes: MAX_SPEECH_BYTES,
    pathOf: () => path,
  });
  await keptFiles.keep({ folder, path: file, userId: KEPT_FOR, bytes: content.bytes });
  return { kind: 'voice', name, mimeType, ...content, file };
}

/** The existing bytes; undefined when there are none. */
async function bytesAt(files: SessionFiles, folder: string, path: string): Promise<Uint8Array | undefined> {
  try {
    await using file = await files.read(folder, path);
    const chunks: Uint8Array[] = [];
    for await (const chunk of file.chunks()) chunks.push(chunk);
    return Buffer.concat(chunks);
  } catch (error) {
    if (error instanceof ToolError && error.code === 'not_found') return undefined;
    throw error;
  }
}

/** What the module needs; it makes `synthesize` from `service`. */
interface SpeechParts extends Omit<SpeechContext, 'synthesize'> {
  service: ServiceFetch;
}

interface Speech {
  /** Runs the heads of `speech:` lanes. */
  handler: LaneHandler;
  /** For callers of the API. */
  speak: AudioApi['speak'];
  /** `/voice`. */
  command: Command;
  /** Ends the connections to the server. Never throws. */
  close(): Promise<void>;
}

/** Makes the module; nothing is requested before the first spoken answer. */
export function createSpeech({ service, ...parts }: SpeechParts): Speech {
  const { ledger, settings, log } = parts;
  const synthesize = createSynthesize((url, init) => service.request(url, init), log);
  return {
    handler: createSpeakAnswers({ ...parts, synthesize }),
    async speak(text, { voice, userId: person, ...request }, signal) {
      const server = settings();
      if (server === undefined) throw new GatewayError('not_configured', textRef('voice.cannot'));
      const call = { purpose: 'speech', model: server.model, input: text, person } as const;
      return await parts.metered(call, () =>
        synthesize(text, { ...server, ...request, voice: voice ?? server.voice }, signal),
      );
    },
    command: createVoiceCommand(ledger, () => settings() !== undefined),
    close: () => service.close(),
  };
}

/** Makes the command. It throws `GatewayError` for any other argument, and if no text-to-speech server is set. */
function createVoiceCommand(ledger: SessionStore, canSpeak: () => boolean): Command {
  return {
    name: 'voice',
    description: 'about.voice',
    argument: ON_OR_OFF,
    async run(call) {
      const setting = call.args.toLowerCase();
      if (setting === '') return describe((await ledger.session(call.session))?.voice ?? false, call.say);
      if (setting !== 'on' && setting !== 'off')
        throw new GatewayError('bad_argument', textRef('voice.usage'));
      const voice = setting === 'on';
      if (voice && !canSpeak()) throw new GatewayError('no_speech', textRef('voice.cannot'));
      await changeSession(ledger, call, { voice, voiceFailing: false });
      return describe(voice, call.say);
    },
  };
}

function describe(voice: boolean, say: Say): string {
  return say(voice ? 'voice.on' : 'voice.off');
}
