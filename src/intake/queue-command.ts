/** `/queue`: how messages are handled that arrive while an answer is being written. */
import { changeSession } from '../contracts/command.ts';
import type { Command } from '../contracts/command.ts';
import { GatewayError } from '../contracts/errors.ts';
import type { SessionStore } from '../contracts/store/ledger.ts';
import type { QueueMode } from '../contracts/store/records.ts';

/** Every mode as users read it. */
const QUEUE_MODES: Readonly<Record<QueueMode, string>> = {
  queue: 'each message gets its own answer, in order',
  steer: 'a message joins the running answer at its next step',
  interrupt: 'a message ends the running answer and is answered instead',
  collect: 'messages sent in one go are answered as one',
};

/** Reads a mode. Throws `GatewayError('bad_queue_mode')` that names them all. */
export function readQueueMode(text: string): QueueMode {
  const mode = modes().find((known) => known === text.trim().toLowerCase());
  if (mode !== undefined) return mode;
  throw new GatewayError(
    'bad_queue_mode',
    `There is no queue mode "${text.slice(0, 80)}". Modes: ${modes().join(', ')}.`,
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
    description: 'How to handle messages that arrive while I am answering',
    argument: { name: 'mode', description: modes().join(', '), required: false },
    async run(call) {
      const { session, args } = call;
      if (args === '') {
        const { queueMode: current } = (await ledger.session(session)) ?? ledger.newSessions;
        const lines = modes().map((mode) => `${mode === current ? '▶' : '·'} ${mode} - ${QUEUE_MODES[mode]}`);
        return [`Messages while I answer: ${current}.`, ...lines].join('\n');
      }
      const mode = readQueueMode(args);
      await changeSession(ledger, call, { queueMode: mode });
      return `From now on ${QUEUE_MODES[mode]} (${mode}).`;
    },
  };
}
