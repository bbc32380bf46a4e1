/** `/retry` and `/undo`: the last question asked again, or taken out of what the model reads. */
import type { EventBus } from '../../contracts/bus.ts';
import type { Command } from '../../contracts/command.ts';
import { WHY_NOT } from '../../contracts/sessions/tries.ts';
import type { TryStore } from '../../contracts/sessions/tries.ts';
import { clipEnd, oneLine } from '../../lib/text.ts';

/** Longest part of a question that a reply repeats, in UTF-16 units. */
const MAX_REPEATED = 80;

export interface TryCommandDeps {
  tries: TryStore;
  events: Pick<EventBus, 'emit'>;
}

/** Makes the commands. They throw `StoreError`. */
export function createTryCommands({ tries, events }: TryCommandDeps): Command[] {
  return [
    {
      name: 'retry',
      description: 'Ask my last question again',
      run: () => Promise.resolve(WHY_NOT.nothing),
      async passOn({ session }) {
        const last = await tries.lastQuestion(session);
        return last && { content: last.content, options: { retryOf: last.turnId } };
      },
    },
    {
      name: 'undo',
      description: 'Forget my last question and its answer',
      async run({ session }) {
        const undone = await tries.undo(session);
        if (typeof undone === 'string') return WHY_NOT[undone];
        events.emit(session, { type: 'context_changed' });
        const said = clipEnd(oneLine(undone.content), MAX_REPEATED);
        return `I no longer know of “${said}” and its answer. What tools did is not undone.`;
      },
    },
  ];
}
