/** `/queue`: how to handle messages that arrive while an answer is being written. */
import { changeSession, type Command } from '../../protocol/command.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { SessionStore } from '../../protocol/store/ledger.ts';
import type { QueueMode } from '../../protocol/store/records.ts';
import { type PlainKey, textRef } from '../../protocol/texts/say.ts';

/** Every mode as worded for users. */
const QUEUE_MODES: Readonly<Record<QueueMode, PlainKey>> = {
  queue: 'queue.queue',
  steer: 'queue.steer',
  interrupt: 'queue.interrupt',
  collect: 'queue.collect',
};

/** Reads a mode. Throws `GatewayError('bad_queue_mode')` that names them all. */
export function readQueueMode(text: string): QueueMode {
  const mode = modes().find((known) => known === text.trim().toLowerCase());
  if (mode !== undefined) return mode;
  throw new GatewayError(
    'bad_queue_mode',
    textRef('queue.unknown', { name: text.slice(0, 80), modes: modes().join(', ') }),
  );
}

function modes(): QueueMode[] {
  return ['queue', 'steer', 'interrupt', 'collect'] satisfies QueueMode[];
}

export interface QueueDeps {
  ledger: Pick<SessionStore, 'session' | 'updateSession' | 'newSessions'>;
}

/** Makes the command. It throws `GatewayError` for an unknown mode. */
export function queueCommand({ ledger }: QueueDeps): Command {
  return {
    name: 'queue',
    description: 'about.queue',
    argument: {
      name: 'mode',
      label: 'word.mode',
      description: 'argument.queue',
      required: false,
      choices: modes(),
    },
    async run(call) {
      const { session, args, say } = call;
      if (args === '') {
        const { queueMode: current } = (await ledger.session(session)) ?? ledger.newSessions;
        const lines = modes().map(
          (mode) => `${mode === current ? '▶' : '·'} ${mode} - ${say(QUEUE_MODES[mode])}`,
        );
        return [say('queue.now', { mode: current }), ...lines].join('\n');
      }
      const mode = readQueueMode(args);
      await changeSession(ledger, call, { queueMode: mode });
      return say('queue.changed', { meaning: say(QUEUE_MODES[mode]), mode });
    },
  };
}
