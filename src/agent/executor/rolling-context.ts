/** Earlier steps for the correction call: the newest in full, older ones as a sentence (S-06…S-09). */
import { clipMiddle } from '../../lib/text.ts';
import type { PlanStep, StepResult } from '../../contracts/plan.ts';

/** Steps that are remembered in full (S-06). */
export const STEP_LIMIT = 10;
/** From so many steps in full on, the oldest are made one sentence (S-07). */
export const SUMMARIZE_TRIGGER = 5;
/** Steps that become one sentence (S-07). */
export const SUMMARIZE_BATCH = 3;
/** Sentences that are remembered; the oldest goes first. */
export const SUMMARY_LIMIT = 10;
/** Longest sentence, and longest result of a step in full, in UTF-16 units. */
const MAX_SUMMARY_CHARS = 600;
const MAX_ENTRY_CHARS = 1_500;

/** A step that was run. */
export interface StepEntry {
  step: PlanStep;
  result: StepResult;
}

/** Makes one sentence of steps; may reject, and may take its time. */
export type Summarize = (entries: readonly StepEntry[]) => Promise<string>;

/** Grows with the steps of a plan and stays small. */
export class RollingContext {
  readonly #summarize: Summarize;
  readonly #entries: StepEntry[] = [];
  readonly #summaries: string[] = [];
  #forgotten = 0;
  #consecutiveFailures = 0;
  #summarizing: Promise<void> | undefined;

  constructor(summarize: Summarize) {
    this.#summarize = summarize;
  }

  /** Failed runs since the last one that did not fail. */
  get consecutiveFailures(): number {
    return this.#consecutiveFailures;
  }

  /** Steps in full, oldest first. */
  get entries(): readonly StepEntry[] {
    return this.#entries;
  }

  /** Takes a run in. Never waits and never throws. */
  addStep(step: PlanStep, result: StepResult): void {
    this.#entries.push({ step, result });
    this.#consecutiveFailures = result.isError ? this.#consecutiveFailures + 1 : 0;
    if (this.#entries.length > STEP_LIMIT) this.#forget(this.#entries.slice(0, 1));
    this.summarizeIfNeeded();
  }

  /** Begins to make a sentence of the oldest steps when there are enough, in the background (S-47). Never throws. */
  summarizeIfNeeded(): void {
    if (this.#summarizing !== undefined || this.#entries.length < SUMMARIZE_TRIGGER) return;
    const batch = this.#entries.slice(0, SUMMARIZE_BATCH);
    this.#summarizing = this.#condense(batch).finally(() => {
      this.#summarizing = undefined;
      this.summarizeIfNeeded();
    });
  }

  /** Resolves when nothing is being summarised. Never rejects. */
  async settled(): Promise<void> {
    while (this.#summarizing !== undefined) await this.#summarizing;
  }

  /** All of it as a text for a prompt; empty before the first step. */
  toContextString(): string {
    const lost =
      this.#forgotten === 0 ? [] : [`(${this.#forgotten} earlier runs of steps are not remembered.)`];
    const lines = this.#entries.map(({ step, result }) => {
      const content = clipMiddle(result.content, MAX_ENTRY_CHARS);
      const attempt = result.attemptIndex === 0 ? '' : `, attempt ${result.attemptIndex + 1}`;
      return `[${step.id}${attempt}] ${step.description}: ${result.isError ? 'FAILED' : 'ok'}\n${content}`;
    });
    return [...lost, ...this.#summaries.map((sentence) => `Earlier: ${sentence}`), ...lines].join('\n');
  }

  /** Drops the steps when no sentence can be had (S-08). */
  async #condense(batch: readonly StepEntry[]): Promise<void> {
    let sentence: string;
    try {
      sentence = (await this.#summarize(batch)).replaceAll(/\s+/g, ' ').trim();
    } catch {
      // The plan goes on without a summary; the prompt says how many runs are not remembered.
      sentence = '';
    }
    if (sentence === '') return this.#forget(batch);
    this.#remove(batch);
    this.#summaries.push(clipMiddle(sentence, MAX_SUMMARY_CHARS));
    if (this.#summaries.length > SUMMARY_LIMIT) {
      this.#summaries.shift();
      this.#forgotten += SUMMARIZE_BATCH;
    }
  }

  #forget(batch: readonly StepEntry[]): void {
    this.#forgotten += this.#remove(batch);
  }

  /** Some may be gone already: forgotten while the sentence was being made. */
  #remove(batch: readonly StepEntry[]): number {
    const before = this.#entries.length;
    const kept = this.#entries.filter((entry) => !batch.includes(entry));
    this.#entries.splice(0, before, ...kept);
    return before - kept.length;
  }
}
