/** A store whose process dies at its n-th step: before the commit or after it, and nothing is committed from then on. */
import type { Ledger } from '../../src/ledger.ts';
import type { RunStore } from '../../src/runs.ts';

class SimulatedCrash extends Error {}

export interface Death {
  ledger: (ledger: Ledger) => Ledger;
  runs: (runs: RunStore) => RunStore;
  /** The steps as they were begun. */
  readonly seen: string[];
  died: () => boolean;
}

export function dyingStore(at: number, when: 'before' | 'after'): Death {
  const seen: string[] = [];
  let dead = false;
  const guard =
    <A extends unknown[], R>(step: string, commit: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      if (dead) throw new SimulatedCrash(`${step} of a dead process`);
      seen.push(step);
      const dies = seen.length - 1 === at;
      if (dies) dead = true;
      if (dies && when === 'before') throw new SimulatedCrash(`before ${step}`);
      const done = await commit(...args);
      if (dies) throw new SimulatedCrash(`after ${step}`);
      return done;
    };
  return {
    seen,
    died: () => dead,
    ledger: (ledger) => ({
      ...ledger,
      openTurn: guard('openTurn', ledger.openTurn.bind(ledger)),
      journalAnswer: guard('journalAnswer', ledger.journalAnswer.bind(ledger)),
      toolIntent: guard('toolIntent', ledger.toolIntent.bind(ledger)),
      toolResult: guard('toolResult', ledger.toolResult.bind(ledger)),
      finishTurn: guard('finishTurn', ledger.finishTurn.bind(ledger)),
    }),
    runs: (runs) => ({
      ...runs,
      journal: guard('journal', runs.journal.bind(runs)),
      write: guard('write', runs.write.bind(runs)),
      close: guard('close', runs.close.bind(runs)),
      start: guard('start', runs.start.bind(runs)),
      finish: guard('finish', runs.finish.bind(runs)),
    }),
  };
}
