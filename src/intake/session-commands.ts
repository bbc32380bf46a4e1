/** `/new`, `/queue`, `/title`, `/trust` and `/retry`: what people set and repeat in their conversation. */
import type { IntakeContext, OpenThread } from './context.ts';
import { changeSession, type Command } from '../protocol/command.ts';
import { GatewayError, toGatewayError } from '../protocol/errors.ts';
import type { Ledger } from '../protocol/store/ledger.ts';
import { type QueueMode, type TryStore, RETRY_REFUSALS } from '../protocol/store/records.ts';
import { textRef } from '../protocol/texts/say.ts';
import { describeSources, taints } from '../protocol/agent/risk.ts';
import type { EventBus } from '../protocol/bus.ts';
import { readTitle } from '../protocol/sessions/session-list.ts';
import type { Channel } from '../protocol/channel.ts';
import type { Log } from '../protocol/log.ts';
import { addressOf, parseAddress } from '../protocol/message.ts';
import { tell } from './surfaces/tell.ts';
import { describeStop, stopSession } from './sessions.ts';

const QUEUE_MODES = ['queue', 'steer', 'interrupt', 'collect'] as const satisfies readonly QueueMode[];

/** Reads a mode. Throws `GatewayError('bad_queue_mode')` that names them all. */
export function readQueueMode(text: string): QueueMode {
  const mode = QUEUE_MODES.find((name) => name === text.trim().toLowerCase());
  if (mode !== undefined) return mode;
  throw new GatewayError(
    'bad_queue_mode',
    textRef('queue.unknown', { name: text.slice(0, 80), modes: QUEUE_MODES.join(', ') }),
  );
}

/** Makes the command. It throws `GatewayError` for an unknown mode. */
export function queueCommand(ledger: Ledger): Command {
  return {
    name: 'queue',
    description: 'about.queue',
    argument: {
      name: 'mode',
      label: 'word.mode',
      description: 'argument.queue',
      required: false,
      choices: QUEUE_MODES,
    },
    async run(call) {
      const { session, args, say } = call;
      if (args === '') {
        const { queueMode: current } = (await ledger.session(session)) ?? ledger.newSessions;
        const lines = QUEUE_MODES.map(
          (mode) => `${mode === current ? '▶' : '·'} ${mode} - ${say(`queue.${mode}`)}`,
        );
        return [say('queue.now', { mode: current }), ...lines].join('\n');
      }
      const mode = readQueueMode(args);
      await changeSession(ledger, call, { queueMode: mode });
      return say('queue.changed', { meaning: say(`queue.${mode}`), mode });
    },
  };
}

/** Makes the command. */
export function trustCommand(ledger: Ledger): Command {
  return {
    name: 'trust',
    owners: true,
    description: 'about.trust',
    async run({ session, owner, say }) {
      if (!owner) {
        throw new GatewayError('forbidden', textRef('trust.owners_only'));
      }
      const sources = await ledger.trustSession(session);
      if (sources === undefined) {
        throw new GatewayError('busy', textRef('trust.busy'));
      }
      if (!taints(sources)) return say('trust.nothing');
      return say('trust.done', { sources: describeSources(sources, say) });
    },
  };
}

/** Makes the command. It throws `GatewayError` for a title that is too long. */
export function titleCommand(ledger: Ledger, events: EventBus): Command {
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

/** Makes the command. It throws `StoreError`. */
export function retryCommand(tries: TryStore): Command {
  return {
    name: 'retry',
    description: 'about.retry',
    run: ({ say }) => Promise.resolve(say.text(RETRY_REFUSALS.nothing)),
    async forward({ session }) {
      const last = await tries.lastQuestion(session);
      return last && { content: last.content, options: { retryOf: last.turnId } };
    },
  };
}

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

/** Makes the command. A thread leaves what is running and what was said in the chat untouched. */
export function newCommand(context: IntakeContext): Command {
  return {
    name: 'new',
    description: 'about.new',
    async run({ session, address, say }) {
      const name = say('new.untitled');
      const thread = await context.openThread(address, name);
      if (thread === undefined || thread === 'no_right') {
        const stopped = describeStop(await stopSession(context, session, true), say);
        context.events.emit(session, { type: 'context_changed' });
        const note = thread === undefined ? '' : say('new.no_right');
        return [stopped, say('new.started'), note].filter((part) => part !== '').join(' ');
      }
      await tell(context, thread, { ref: 'new', content: say('new.in_thread') });
      return say('new.thread_opened', { name });
    },
  };
}
