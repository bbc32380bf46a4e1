/** `/voice`: whether answers are also spoken. */
import { changeSession, type Command, ON_OR_OFF } from '../../contracts/command.ts';
import { GatewayError } from '../../contracts/errors.ts';
import type { SessionStore } from '../../contracts/store/ledger.ts';
import { type Say, textRef } from '../../contracts/texts/say.ts';

export interface VoiceCommandDeps {
  ledger: Pick<SessionStore, 'session' | 'updateSession'>;
  /** False if no text-to-speech server is set. */
  canSpeak: () => boolean;
}

/** Makes the command. It throws `GatewayError` for any other argument, and if no server is set. */
export function createVoiceCommand({ ledger, canSpeak }: VoiceCommandDeps): Command {
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
