/** `/retry` and `/undo`: asks the last question again, or removes it from what the model reads. */
import type { EventBus } from '../../protocol/bus.ts';
import type { Command } from '../../protocol/command.ts';
import { type TryStore, WHY_NOT } from '../../protocol/store/records.ts';
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
      description: 'about.retry',
      run: ({ say }) => Promise.resolve(say.text(WHY_NOT.nothing)),
      async passOn({ session }) {
        const last = await tries.lastQuestion(session);
        return last && { content: last.content, options: { retryOf: last.turnId } };
      },
    },
    {
      name: 'undo',
      description: 'about.undo',
      async run({ session, say }) {
        const undone = await tries.undo(session);
        if (typeof undone === 'string') return say.text(WHY_NOT[undone]);
        events.emit(session, { type: 'context_changed' });
        const question = clipEnd(oneLine(undone.content), MAX_REPEATED);
        return say('undo.done', { question });
      },
    },
  ];
}
