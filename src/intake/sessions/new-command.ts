/** `/new`: a fresh conversation, in its own thread if the chat has threads. */
import type { EventBus } from '../../protocol/bus.ts';
import type { Channel } from '../../protocol/channel.ts';
import type { Command } from '../../protocol/command.ts';
import { toGatewayError } from '../../protocol/errors.ts';
import type { Log } from '../../protocol/log.ts';
import { type Address, addressOf, parseAddress } from '../../protocol/message.ts';
import { tell, type TellDeps } from '../surfaces/tell.ts';
import { describeStop, type StopDeps, stopSession } from './stop-session.ts';

/**
 * Opens a thread for a new conversation of a chat; undefined if it has none, `no_right` if the bot may not open one.
 * Never throws.
 */
export type OpenThread = (chat: Address, name: string) => Promise<Address | 'no_right' | undefined>;

/** Asks the channel of the chat. If that refuses, the conversation starts where it was requested. */
export function openThreadIn(channels: ReadonlyMap<string, Channel>, log: Log): OpenThread {
  return async (chat, name) => {
    const place = parseAddress(chat);
    try {
      const thread = await channels.get(place.channel)?.openThread?.(place, name);
      return thread === undefined || thread === 'no_right' ? thread : addressOf(thread);
    } catch (error) {
      log.warn({ err: toGatewayError(error), chat }, 'thread_not_opened');
      return undefined;
    }
  };
}

export interface NewDeps extends StopDeps, Omit<TellDeps, 'bus'> {
  bus: StopDeps['bus'] & TellDeps['bus'];
  events: Pick<EventBus, 'emit'>;
  openThread: OpenThread;
}

/** Makes the command. A thread leaves what is running and what was said in the chat untouched. */
export function newCommand(deps: NewDeps): Command {
  return {
    name: 'new',
    description: 'about.new',
    async run({ session, address, say }) {
      const name = say('new.untitled');
      const thread = await deps.openThread(address, name);
      if (thread === undefined || thread === 'no_right') {
        const stopped = describeStop(await stopSession(deps, session, true), say);
        deps.events.emit(session, { type: 'context_changed' });
        const why = thread === undefined ? '' : say('new.no_right');
        return [stopped, say('new.begun'), why].filter((part) => part !== '').join(' ');
      }
      await tell(deps, thread, { ref: 'new', content: say('new.in_thread') });
      return say('new.thread_opened', { name });
    },
  };
}
