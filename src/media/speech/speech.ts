/** Spoken answers: the lanes, the command, and the server behind them. */
import type { AudioApi } from '../../protocol/file-api.ts';
import { GatewayError } from '../../protocol/errors.ts';
import { type Say, textRef } from '../../protocol/texts/say.ts';
import type { LaneHandler } from '../../protocol/bus.ts';
import { changeSession, type Command, ON_OR_OFF } from '../../protocol/command.ts';
import type { ServiceFetch } from '../../protocol/agent/tool.ts';
import { createSpeakAnswers, type SpeakAnswersDeps } from './speak-answers.ts';
import { createSynthesize } from './speech-server.ts';
import type { SessionStore } from '../../protocol/store/ledger.ts';

interface VoiceCommandDeps {
  ledger: Pick<SessionStore, 'session' | 'updateSession'>;
  /** False if no text-to-speech server is set. */
  canSpeak: () => boolean;
}

export interface SpeechDeps extends Omit<SpeakAnswersDeps, 'synthesize'> {
  service: ServiceFetch;
}

export interface Speech {
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
export function createSpeech({ service, ...deps }: SpeechDeps): Speech {
  const { ledger, settings, log } = deps;
  const synthesize = createSynthesize({ request: (url, init) => service.request(url, init), log });
  return {
    handler: createSpeakAnswers({ ...deps, synthesize }),
    async speak(text, { voice, ...request }, signal) {
      const now = settings();
      if (now === undefined) throw new GatewayError('not_configured', textRef('voice.cannot'));
      return await synthesize(text, { ...now, ...request, voice: voice ?? now.voice }, signal);
    },
    command: createVoiceCommand({ ledger, canSpeak: () => settings() !== undefined }),
    close: () => service.close(),
  };
}

/** Makes the command. It throws `GatewayError` for any other argument, and if no server is set. */
function createVoiceCommand({ ledger, canSpeak }: VoiceCommandDeps): Command {
  return {
    name: 'voice',
    description: 'about.voice',
    argument: ON_OR_OFF,
    async run(call) {
      const asked = call.args.toLowerCase();
      if (asked === '') return describe((await ledger.session(call.session))?.voice ?? false, call.say);
      if (asked !== 'on' && asked !== 'off') throw new GatewayError('bad_argument', textRef('voice.usage'));
      const voice = asked === 'on';
      if (voice && !canSpeak()) throw new GatewayError('no_speech', textRef('voice.cannot'));
      await changeSession(ledger, call, { voice, voiceFailing: false });
      return describe(voice, call.say);
    },
  };
}

function describe(voice: boolean, say: Say): string {
  return say(voice ? 'voice.on' : 'voice.off');
}
