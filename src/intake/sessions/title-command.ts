/** `/title`: users see and set the title of their chat in lists. */
import type { EventBus } from '../../protocol/bus.ts';
import { changeSession, type Command } from '../../protocol/command.ts';
import type { SessionStore } from '../../protocol/store/ledger.ts';
import { readTitle } from '../../protocol/sessions/session-list.ts';

export interface TitleDeps {
  ledger: Pick<SessionStore, 'session' | 'updateSession'>;
  events: Pick<EventBus, 'emit'>;
}

/** Makes the command. It throws `GatewayError` for a title that is too long. */
export function titleCommand({ ledger, events }: TitleDeps): Command {
  return {
    name: 'title',
    description: 'about.title',
    argument: { name: 'text', label: 'word.text', description: 'argument.title', required: false },
    async run(call) {
      const { session, args, say } = call;
      if (args === '') {
        const title = (await ledger.session(session))?.title;
        return title === undefined ? say('title.none') : say('title.is', { title });
      }
      const title = readTitle(args);
      await changeSession(ledger, call, { title });
      events.emit(session, { type: 'session_titled', title });
      return say('title.changed', { title });
    },
  };
}
