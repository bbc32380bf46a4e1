/** The context rows of one turn: those in the journal and those not stored yet. */
import {
  type ContextEntry,
  type ContextRecord,
  sourcesOfEntry,
  STEP_ITERATIONS,
} from '../../protocol/store/records.ts';
import { type Answer, contextRow, type ContextRow, type Result } from '../prompt/history.ts';
import { mergeSources, type Source } from '../../protocol/agent/risk.ts';

/**
 * One object per turn, shared by the steps of its plan. It begins with the sources of its session and only grows: every
 * answer is stored with them, and the store adds those of each row to its session.
 */
export class Taint {
  #sources: readonly Source[];
  readonly #sent: Set<string>;

  constructor(sources: readonly Source[] = [], output = new Set<string>()) {
    this.#sources = mergeSources([], sources);
    this.#sent = output;
  }

  /** Empty = the turn has read only text of its person and of the gateway. */
  get sources(): readonly Source[] {
    return this.#sources;
  }

  add(sources: readonly Source[]): void {
    this.#sources = mergeSources(this.#sources, sources);
  }

  /** Addresses and queries that the turn and its subagents have sent out. */
  get sent(): ReadonlySet<string> {
    return this.#sent;
  }

  noteSent(text: string): void {
    this.#sent.add(text);
  }

  /** The taint of a subagent: what it reads taints the turn with its result; what it sends out counts at once. */
  fork(): Taint {
    return new Taint(this.#sources, this.#sent);
  }
}

/** Where the text of a message is from. */
export type TextOrigin = Pick<
  ContextEntry & { kind: 'user' },
  'author' | 'owner' | 'sources' | 'typed' | 'pictures'
>;

/** The rows of a turn, oldest first. A fresh row is one that is not in the journal yet. */
export class TurnRows {
  readonly user: ContextRow;
  /** Grows with every row: an answer is stored with the sources of everything read before it. */
  readonly taint: Taint;
  /** The plan as the model reads it (N-25). */
  #plan: ContextRow | undefined;
  readonly #steps: ContextRow[];
  readonly #ofPlan: ContextRow[];
  readonly #fresh = new Set<ContextRow>();

  /** `origin` is that of the message; `taint` begins with what the session has read. */
  constructor(
    userContent: string,
    journal: readonly ContextRecord[],
    { author, owner, sources = [], typed, pictures }: TextOrigin = {},
    taint = new Taint(),
  ) {
    this.taint = taint;
    const isOwn = ({ entry }: ContextRow): boolean => entry.kind === 'user' && entry.laneSeq === undefined;
    const userRow = journal.find(isOwn);
    const origin = {
      ...(author !== undefined && { author }),
      ...(owner !== undefined && { owner }),
      ...(sources.length > 0 && { sources }),
      ...(typed !== undefined && { typed }),
      ...(pictures !== undefined && { pictures }),
    };
    this.user = userRow ?? contextRow(0, { kind: 'user', content: userContent, ...origin });
    if (userRow === undefined) this.#fresh.add(this.user);
    this.#plan = journal.find(({ entry }) => entry.kind === 'plan');
    const rest = journal.filter((row) => row !== userRow && row !== this.#plan);
    const isOfPlan = ({ iteration, entry }: ContextRow): boolean =>
      iteration >= STEP_ITERATIONS || entry.kind === 'plan_fact';
    this.#ofPlan = rest.filter(isOfPlan);
    this.#steps = rest.filter((row) => !isOfPlan(row));
    for (const row of [this.user, ...journal]) this.#read(row.entry);
  }

  #read(entry: ContextEntry): void {
    this.taint.add(sourcesOfEntry(entry));
    if (entry.kind === 'tool_result' && entry.sent !== undefined) this.taint.noteSent(entry.sent);
  }

  /** Rows of the steps of the plan, which have their own conversations; the turn's own loop does not read them. */
  get ofPlan(): readonly ContextRow[] {
    return this.#ofPlan;
  }

  /** Adds rows of a step that are in the journal. */
  keep(rows: readonly ContextRow[]): void {
    for (const row of rows) if (!this.#ofPlan.includes(row)) this.#ofPlan.push(row);
  }

  /**
   * The rows of one run of a step: `task` is built again in each attempt, the others are in the journal. `paid` are the
   * other rows of the turn, which count for what it has used.
   */
  static ofStep(
    task: string,
    journaled: readonly ContextRow[],
    taint: Taint,
    paid: readonly ContextRow[] = [],
  ): TurnRows {
    const rows = new TurnRows(task, [], { sources: taint.sources }, taint);
    rows.#fresh.clear();
    rows.#steps.push(...journaled);
    rows.#ofPlan.push(...paid);
    return rows;
  }

  get plan(): ContextRow | undefined {
    return this.#plan;
  }

  /** Answers, intents and results, in order. */
  get steps(): readonly ContextRow[] {
    return this.#steps;
  }

  /** Adds a row that is not in the journal yet; what the model wrote gets the sources of what it has read. */
  add(iteration: number, content: ContextEntry): ContextRow {
    const entry = withReadSources(content, this.taint);
    const row = contextRow(iteration, entry);
    this.#read(entry);
    if (entry.kind === 'plan') this.#plan = row;
    else this.#steps.push(row);
    this.#fresh.add(row);
    return row;
  }

  /** Adds messages that joined the turn; they are in the journal. */
  joined(rows: readonly ContextRow[]): void {
    this.#steps.push(...rows);
    for (const { entry } of rows) this.#read(entry);
  }

  /** Rows that are not in the journal yet, in order. */
  fresh(): ContextRow[] {
    return [...this.#fresh];
  }

  /** Marks rows as journaled. */
  journaled(rows: readonly ContextRow[]): void {
    for (const row of rows) this.#fresh.delete(row);
  }

  answer(iteration: number): Answer | undefined {
    return this.answers().find((row) => row.iteration === iteration)?.entry;
  }

  answers(): { iteration: number; entry: Answer }[] {
    return answersIn(this.#steps);
  }

  /** Every model answer: those of the loop and those of the plan's steps. */
  paidAnswers(): Answer[] {
    return answersIn([...this.#steps, ...this.#ofPlan]).map(({ entry }) => entry);
  }

  result(iteration: number, callIndex: number): Result | undefined {
    const row = this.#call(iteration, callIndex).find(({ entry }) => entry.kind === 'tool_result');
    return row?.entry.kind === 'tool_result' ? row.entry : undefined;
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

function withReadSources(entry: ContextEntry, { sources }: Taint): ContextEntry {
  if (sources.length === 0 || (entry.kind !== 'assistant' && entry.kind !== 'plan')) return entry;
  return { ...entry, sources };
}

function answersIn(rows: readonly ContextRow[]): { iteration: number; entry: Answer }[] {
  return rows.flatMap(({ iteration, entry }) => (entry.kind === 'assistant' ? [{ iteration, entry }] : []));
}
