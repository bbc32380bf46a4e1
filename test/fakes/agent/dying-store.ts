/** A store whose process dies at its n-th step: before the commit or after it, and nothing is committed from then on. */

/** Every step of a dead process ends with this. */
export class SimulatedCrash extends Error {}

/** For code that waits on a process that may die: any other error is rethrown. */
export function notOfDeath(error: unknown): void {
  if (!(error instanceof SimulatedCrash)) throw error;
}

export interface Death {
  /** Wraps an interface of the store in the dying process; its functions that are listed as steps are steps. */
  readonly of: <Word extends object>(word: Word) => Word;
  /** The steps in the order they were begun. */
  readonly seen: string[];
  died(): boolean;
}

/** The death at the `at`-th of these steps, counted from 0 across all interfaces; none at infinity. */
export function dyingAt(at: number, when: 'before' | 'after', steps: readonly string[]): Death {
  const seen: string[] = [];
  let dead = false;
  const begin = async (name: string, commit: () => Promise<unknown>): Promise<unknown> => {
    if (dead) throw new SimulatedCrash(`${name} of a dead process`);
    dead = seen.push(name) - 1 === at;
    if (dead && when === 'before') throw new SimulatedCrash(`before ${name}`);
    const dies = dead;
    const done = await commit();
    if (dies) throw new SimulatedCrash(`after ${name}`);
    return done;
  };
  return {
    seen,
    died: () => dead,
    of: (word) =>
      new Proxy(word, {
        get(target, name, receiver) {
          const step: unknown = Reflect.get(target, name, receiver);
          if (typeof step !== 'function' || !steps.includes(String(name))) return step;
          return (...args: unknown[]) =>
            begin(String(name), async (): Promise<unknown> => await Reflect.apply(step, target, args));
        },
      }),
  };
}

/** What a turn commits, from its start to its end. */
export const TURN_STEPS = ['openTurn', 'journalAnswer', 'toolIntent', 'toolResult', 'finishTurn'] as const;
/** What a subagent commits. */
export const RUN_STEPS = ['journal', 'write', 'close', 'start', 'finish'] as const;
