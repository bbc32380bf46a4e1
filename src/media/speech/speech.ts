/** Spoken answers: the lanes, the command, and the server behind them. */
import type { AudioApi } from '../../contracts/audio-api.ts';
import { GatewayError } from '../../contracts/errors.ts';
import { textRef } from '../../contracts/texts/say.ts';
import type { LaneHandler } from '../../contracts/bus.ts';
import type { Command } from '../../contracts/command.ts';
import type { ServiceFetch } from '../../contracts/mcp/service-fetch.ts';
import { createSpeakAnswers, type SpeakAnswersDeps } from './speak-answers.ts';
import { createSynthesize } from './speech-server.ts';
import { createVoiceCommand } from './voice-command.ts';

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
