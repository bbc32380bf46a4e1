/** The rows of one turn: what its journal holds, and what was made since. */
import { STEP_ITERATIONS } from '../../contracts/records.ts';
import type { ContextEntry, ContextRecord } from '../../contracts/records.ts';
import type { TextSource } from '../../contracts/risk.ts';
import { contextRow } from '../prompt/history.ts';
import type { Answer, ContextRow, Result } from '../prompt/history.ts';

/** The rows of one turn: those of the journal, then those made since. */
export class TurnRows {
  readonly user: ContextRow;
  /** The turn's plan, as the model reads it (N-25). */
  #plan: ContextRow | undefined;
  readonly #steps: ContextRow[];
  readonly #ofPlan: ContextRow[];
  readonly #fresh = new Set<ContextRow>();

  /** `source`: whose words the message holds, where they are not the user's own. */
  constructor(userContent: string, journal: readonly ContextRecord[], source?: TextSource) {
    const isOwn = ({ entry }: ContextRow): boolean => entry.kind === 'user' && entry.laneSeq === undefined;
    const stored = journal.find(isOwn);
    const user = { kind: 'user' as const, content: userContent };
    this.user = stored ?? contextRow(0, source === undefined ? user : { ...user, source });
    if (stored === undefined) this.#fresh.add(this.user);
    this.#plan = journal.find(({ entry }) => entry.kind === 'plan');
    const rest = journal.filter((row) => row !== stored && row !== this.#plan);
    const isOfPlan = ({ iteration, entry }: ContextRow): boolean =>
      iteration >= STEP_ITERATIONS || entry.kind === 'plan_fact';
    this.#ofPlan = rest.filter(isOfPlan);
    this.#steps = rest.filter((row) => !isOfPlan(row));
  }

  /** Rows of the plan's steps, from conversations of their own; the turn's loop reads none of them. */
  get ofPlan(): readonly ContextRow[] {
    return this.#ofPlan;
  }

  /** Adds journaled rows of a step. */
  keep(rows: readonly ContextRow[]): void {
    for (const row of rows) if (!this.#ofPlan.includes(row)) this.#ofPlan.push(row);
  }

  /** Those of one run of a step: what of it is in the journal, under a task that is made anew each time. */
  static ofStep(task: string, journaled: readonly ContextRow[], source: TextSource | undefined): TurnRows {
    const rows = new TurnRows(task, [], source);
    rows.#fresh.clear();
    rows.#steps.push(...journaled);
    return rows;
  }

  get plan(): ContextRow | undefined {
    return this.#plan;
  }

  /** Answers, intents and results, in their order. */
  get steps(): readonly ContextRow[] {
    return this.#steps;
  }

  /** Adds a row that is not in the journal yet. */
  add(iteration: number, entry: ContextEntry): ContextRow {
    const row = contextRow(iteration, entry);
    if (entry.kind === 'plan') this.#plan = row;
    else this.#steps.push(row);
    this.#fresh.add(row);
    return row;
  }

  /** Messages that joined the turn; the journal holds them. */
  joined(rows: readonly ContextRow[]): void {
    this.#steps.push(...rows);
  }

  /** Rows not in the journal yet, in their order. */
  fresh(): ContextRow[] {
    return [...this.#fresh];
  }

  /** The journal holds these rows now. */
  journaled(rows: readonly ContextRow[]): void {
    for (const row of rows) this.#fresh.delete(row);
  }

  answer(iteration: number): Answer | undefined {
    return this.answers().find((row) => row.iteration === iteration)?.entry;
  }

  answers(): { iteration: number; entry: Answer }[] {
    return answersIn(this.#steps);
  }

  /** Every answer that cost something: the loop's and those of the plan's steps. */
  paidAnswers(): Answer[] {
    return answersIn([...this.#steps, ...this.#ofPlan]).map(({ entry }) => entry);
  }

  result(iteration: number, callIndex: number): Result | undefined {
    const found = this.#call(iteration, callIndex).find(({ entry }) => entry.kind === 'tool_result');
    return found?.entry.kind === 'tool_result' ? found.entry : undefined;
  }

  intended(iteration: number, callIndex: number): boolean {
    return this.#call(iteration, callIndex).some(({ entry }) => entry.kind === 'tool_intent');
  }

  results(): Result[] {
    return this.#steps.flatMap(({ entry }) => (entry.kind === 'tool_result' ? [entry] : []));
  }

  #call(iteration: number, callIndex: number): ContextRow[] {
    return [...this.#steps, ...this.#ofPlan].filter(
      (row) => row.iteration === iteration && 'callIndex' in row.entry && row.entry.callIndex === callIndex,
    );
  }
}

function answersIn(rows: readonly ContextRow[]): { iteration: number; entry: Answer }[] {
  return rows.flatMap(({ iteration, entry }) => (entry.kind === 'assistant' ? [{ iteration, entry }] : []));
}
