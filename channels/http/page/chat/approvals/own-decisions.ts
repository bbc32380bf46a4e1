/** Which questions were decided in this browser, for the wording of what became of them. */
import { StoredList } from '../../stored-list.ts';

/** The oldest beyond these are named like those of other people. */
const MAX_DECISIONS = 200;

const decisions = new StoredList<string>('parley-decisions', MAX_DECISIONS);

/** Notes that this browser decided a question, by its id. */
export function keepOwnDecision(id: string): void {
  decisions.write([...decisions.read().filter((other) => other !== id), id]);
}

/** Takes that back: somebody else was faster, or the gateway could not be reached. */
export function dropOwnDecision(id: string): void {
  decisions.write(decisions.read().filter((other) => other !== id));
}

/** True for a question that this browser decided. */
export function isOwnDecision(id: string): boolean {
  return decisions.read().includes(id);
}

/** Forgets all of them. */
export function forgetDecisions(): void {
  decisions.clear();
}
