/** The earlier steps as the correction call sees them: the newest in full, older ones in a sentence (S-06…S-09). */
import { clipMiddle } from '../../lib/text.ts';
import { ApprovalWait } from '../tools/approval-gate.ts';
import type { PlanStep, StepResult } from '../../protocol/agent/plan.ts';

/** Steps that are kept in full (S-06). */
export const STEP_LIMIT = 10;
/** At this many steps in full the oldest are summarized in one sentence (S-07). */
export const SUMMARIZE_TRIGGER = 5;
/** Steps that are summarized in one sentence (S-07). */
export const SUMMARIZE_BATCH = 3;
/** Sentences that are kept; the oldest is dropped first. */
export const SUMMARY_LIMIT = 10;
/** Longest sentence, and longest result of a step in full, in UTF-16 units. */
const MAX_SUMMARY_CHARS = 600;
const MAX_ENTRY_CHARS = 1_500;

/** A step that was run. */
export interface StepEntry {
  step: PlanStep;
  result: StepResult;
}

/** Summarizes steps in one sentence. May reject and may be slow. */
export type Summarize = (entries: readonly StepEntry[]) => Promise<string>;

/** A bounded record of the steps of a plan. */
export class RollingContext {
  readonly #summarize: Summarize;
  readonly #entries: StepEntry[] = [];
  readonly #summaries: string[] = [];
  #dropped = 0;
  #consecutiveFailures = 0;
  #summarizing: Promise<void> | undefined;

  constructor(summarize: Summarize) {
    this.#summarize = summarize;
  }

  /** Failed runs since the last successful one. */
  get consecutiveFailures(): number {
    return this.#consecutiveFailures;
  }

  /** Steps in full, oldest first. */
  get entries(): readonly StepEntry[] {
    return this.#entries;
  }

  /** Adds a run. Never waits and never throws. */
  addStep(step: PlanStep, result: StepResult): void {
    this.#entries.push({ step, result });
    this.#consecutiveFailures = result.isError ? this.#consecutiveFailures + 1 : 0;
    if (this.#entries.length > STEP_LIMIT) this.#drop(this.#entries.slice(0, 1));
    this.summarizeIfNeeded();
  }

  /** Starts to summarize the oldest steps in the background when there are enough (S-47). Never throws. */
  summarizeIfNeeded(): void {
    if (this.#summarizing !== undefined || this.#entries.length < SUMMARIZE_TRIGGER) return;
    const batch = this.#entries.slice(0, SUMMARIZE_BATCH);
    this.#summarizing = this.#summarizeBatch(batch).finally(() => {
      this.#summarizing = undefined;
      this.summarizeIfNeeded();
    });
  }

  /** Resolves when no summary is being made. Never rejects. */
  async settled(): Promise<void> {
    while (this.#summarizing !== undefined) await this.#summarizing;
  }

  /** The text for a prompt; empty before the first step. */
  toContextString(): string {
    const gap = this.#dropped === 0 ? [] : [`(${this.#dropped} earlier runs of steps are not remembered.)`];
    const lines = this.#entries.map(({ step, result }) => {
      const content = clipMiddle(result.content, MAX_ENTRY_CHARS);
      const attempt = result.attemptIndex === 0 ? '' : `, attempt ${result.attemptIndex + 1}`;
      return `[${step.id}${attempt}] ${step.description}: ${result.isError ? 'FAILED' : 'ok'}\n${content}`;
    });
    return [...gap, ...this.#summaries.map((sentence) => `Earlier: ${sentence}`), ...lines].join('\n');
  }

  /** Drops the steps when they cannot be summarized (S-08). */
  async #summarizeBatch(batch: readonly StepEntry[]): Promise<void> {
    let sentence: string;
    try {
      sentence = (await this.#summarize(batch)).replaceAll(/\s+/g, ' ').trim();
    } catch (error) {
      if (error instanceof ApprovalWait) throw error;
      // The plan continues without a summary; the prompt states how many runs were dropped.
      sentence = '';
    }
    if (sentence === '') return this.#drop(batch);
    this.#remove(batch);
    this.#summaries.push(clipMiddle(sentence, MAX_SUMMARY_CHARS));
    if (this.#summaries.length > SUMMARY_LIMIT) {
      this.#summaries.shift();
      this.#dropped += SUMMARIZE_BATCH;
    }
  }

  #drop(batch: readonly StepEntry[]): void {
    this.#dropped += this.#remove(batch);
  }

  /** Some may have been dropped while the sentence was being made. */
  #remove(batch: readonly StepEntry[]): number {
    const count = this.#entries.length;
    const rest = this.#entries.filter((entry) => !batch.includes(entry));
    this.#entries.splice(0, count, ...rest);
    return count - rest.length;
  }
}
