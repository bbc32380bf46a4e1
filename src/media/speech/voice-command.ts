/** `/voice`: whether answers are also spoken. */
import { changeSession } from '../../contracts/command.ts';
import type { Command } from '../../contracts/command.ts';
import { GatewayError } from '../../contracts/errors.ts';
import type { SessionStore } from '../../contracts/store/ledger.ts';

export interface VoiceCommandDeps {
  ledger: Pick<SessionStore, 'session' | 'updateSession'>;
  /** False where no text-to-speech server is set. */
  canSpeak: () => boolean;
}

/** Makes the command. It throws `GatewayError` for another argument, and where nothing can be spoken. */
export function createVoiceCommand({ ledger, canSpeak }: VoiceCommandDeps): Command {
  return {
    name: 'voice',
    description: 'Speak the answers as voice messages, too',
    argument: { name: 'on|off', description: 'on or off', required: false },
    async run(call) {
      const asked = call.args.toLowerCase();
      if (asked === '') return describe((await ledger.session(call.session))?.voice ?? false);
      if (asked !== 'on' && asked !== 'off')
        throw new GatewayError('bad_argument', 'Write /voice on or /voice off.');
      const voice = asked === 'on';
      if (voice && !canSpeak())
        throw new GatewayError(
          'no_speech',
          'This gateway cannot speak: set speech.baseUrl in config.json to a text-to-speech server.',
        );
      await changeSession(ledger, call, { voice, voiceFailing: false });
      return describe(voice);
    },
  };
}

function describe(voice: boolean): string {
  return voice
    ? 'Answers here are also spoken, as voice messages after their text. /voice off ends that.'
    : 'Answers here are not spoken. /voice on changes that.';
}
