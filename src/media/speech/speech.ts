/** Spoken answers: the lanes, the command, and the server behind them. */
import type { LaneHandler } from '../../contracts/bus.ts';
import type { Command } from '../../contracts/command.ts';
import type { ServiceFetch } from '../../contracts/mcp/service-fetch.ts';
import { createSpeakAnswers } from './speak-answers.ts';
import type { SpeakAnswersDeps } from './speak-answers.ts';
import { createSynthesize } from './speech-server.ts';
import { createVoiceCommand } from './voice-command.ts';

export interface SpeechDeps extends Omit<SpeakAnswersDeps, 'synthesize'> {
  service: ServiceFetch;
}

export interface Speech {
  /** Runs the heads of `speech:` lanes. */
  handler: LaneHandler;
  /** `/voice`. */
  command: Command;
  /** Ends the connections to the server. Never throws. */
  close(): Promise<void>;
}

/** Makes the module; nothing is requested before the first spoken answer. */
export function createSpeech({ service, ...deps }: SpeechDeps): Speech {
  const { ledger, settings, log } = deps;
  return {
    handler: createSpeakAnswers({
      ...deps,
      synthesize: createSynthesize({ request: (url, init) => service.request(url, init), log }),
    }),
    command: createVoiceCommand({ ledger, canSpeak: () => settings() !== undefined }),
    close: () => service.close(),
  };
}
