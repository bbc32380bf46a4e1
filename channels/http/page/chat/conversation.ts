/** One session's conversation: its stored messages and its live turns, as the page shows them, from opening to `close`. */
import { citationsOf } from './turn/citations.tsx';
import { batch, type Signal, signal } from '@preact/signals';
import type { AgentEvent } from '../../../../src/protocol/event.ts';
import { api, type Approval, type Message, type Reset, type TurnWork } from '../api.ts';
import { type CommandAnswer, CommandAnswers } from '../commands/command-answers.ts';
import { plainText } from '../markdown/plain-text.ts';
import { say } from '../texts.ts';
import { ChatPlans } from './chat-plans.ts';
import { DeltaQueue } from './delta-queue.ts';
import { EndOfList } from './end-of-list.ts';
import { ChatFiles, type ShownFile } from './files.tsx';
import { type Group, move, place, type Placed, remove } from './groups.ts';
import { textOf, withNote } from './turn/answer.ts';
import { turnVisibilities } from './turn/turn-visibility.ts';
import {
  applyPlan,
  applyToTurn,
  isBlank,
  joinedTurn,
  missesWork,
  newTurn,
  type ShownQuestion,
  type Turn,
  type TurnAct,
  type TurnHost,
  waitingBehind,
  withAnswer,
  withQuestion,
  withVisibility,
  withWork,
} from './turn/turn.ts';

const PAGE_SIZE = 50;
/** Messages per request while loading up to a message that a search found, and the most such requests. */
const FOUND_PAGE_SIZE = 200;
const MAX_PAGES_TO_FOUND = 50;
/** What every formula begins with. */
const MAY_HAVE_FORMULA = /\$|\\[([]|```math/;

/** A turn in its place, or the line where `/new` began a new conversation. */
export type Item = Placed & ({ turn: Signal<Turn> } | { resetAt: string });

/** The conversation of one session. */
export class Conversation {
  readonly key: string;
  /** What is shown, in order. */
  readonly groups = signal<readonly Group<Item>[]>([]);
  /** There are earlier messages. */
  readonly hasEarlier = signal(false);
  /** The turns by their keys, which they keep: a message that is being sent has no turn's id yet. */
  readonly #turns = new Map<string, Signal<Turn>>();
  /** Keys by the ids of turns. */
  readonly #keys = new Map<string, string>();
  /** Turn ids by the numbers of stored messages. */
  readonly #turnIds = new Map<number, string>();
  /** Turn ids by the agent ids of their subagents. */
  readonly #agents = new Map<string | undefined, string>();
  readonly #resets = new Map<number, Item & { resetAt: string }>();
  readonly #deltas = new DeltaQueue((event) => this.#reduce(event));
  readonly #plans: ChatPlans;
  readonly #commands: CommandAnswers;
  readonly end: EndOfList;
  readonly #ended = new AbortController();
  /** What the turns work with. */
  readonly host: TurnHost;
  #keyCount = 0;
  #oldest = Infinity;
  /** The load of earlier messages that is under way. */
  #loading: Promise<void> | undefined;

  /** @param act does what a person wishes of a turn */
  constructor(key: string, act: (act: Exclude<TurnAct, { do: 'trace' }>) => Promise<boolean>) {
    this.key = key;
    const { signal: abortSignal } = this.#ended;
    this.#plans = new ChatPlans(key, {
      all: () => [...this.#turns.values()].map((turn) => turn.peek()),
      known: (turnId) => this.#turn(turnId)?.peek(),
      change: (turnId, update) => this.#change(turnId, update),
      signal: abortSignal,
    });
    this.host = {
      files: new ChatFiles(key),
      citations: citationsOf(key),
      plans: this.#plans.host,
      act: async (one) => (one.do === 'trace' ? await this.#showTrace(one.turnId) : await act(one)),
    };
    this.end = new EndOfList(() => this.hasEarlier.value && void this.loadEarlier());
    this.#commands = new CommandAnswers(key, abortSignal, (answer) => this.#showCommand(answer));
  }

  /** True while a turn of this session runs, by the events so far. */
  get running(): boolean {
    return this.#shown().some(({ state }) => state === 'running');
  }

  /** The turns that are shown, in order. */
  #shown(): Turn[] {
    return this.#items().flatMap((item) => ('turn' in item ? [item.turn.peek()] : []));
  }

  #items(): Item[] {
    return this.groups.peek().flatMap(({ items }) => items);
  }

  /** Opens the trace of the newest answer. Rejects if its script cannot be loaded. */
  async showNewestTrace(): Promise<void> {
    const newest = this.#shown().findLast(({ marks }) => marks.turnId !== '');
    if (newest !== undefined) await this.#showTrace(newest.marks.turnId);
  }

  async #showTrace(turnId: string): Promise<true> {
    const { showTrace } = await import('./turn/trace.tsx');
    showTrace((include) => api.trace(turnId, include));
    return true;
  }

  /** The text of a turn's answer, as it is read aloud. Rejects if the script that reads formulas cannot be loaded. */
  async spokenText(turnId: string | undefined = ''): Promise<string> {
    const turn = this.#turn(turnId)?.peek();
    if (turn === undefined) return '';
    const text = textOf(turn.answer);
    if (!MAY_HAVE_FORMULA.test(text)) return plainText(text);
    const { readAloud } = await import('../markdown/read-aloud.ts');
    return readAloud(text);
  }

  close(): void {
    this.host.files.close();
    this.#ended.abort();
  }

  /**
   * Loads the newest stored messages and updates those on screen. With `hasGaps` it also loads the thinking and the tool calls
   * of turns, whose events may not all have been seen. Rejects with `ApiError`.
   */
  async refresh(hasGaps: boolean): Promise<void> {
    const page = { limit: PAGE_SIZE };
    const isWhole = hasGaps || [...this.#turns.values()].some((turn) => missesWork(turn.peek()));
    const read = isWhole
      ? await api.messagesWithWork(this.key, page)
      : { steps: [], ...(await api.messages(this.key, page)) };
    if (this.#ended.signal.aborted) return;
    this.#addMessages(read);
    if (read.messages.some(({ isPlan }) => isPlan)) await this.#plans.load(false);
  }

  /** Loads everything from a message to the end, and goes to the message, which is marked. Rejects with `ApiError`. */
  async show(seq: number): Promise<void> {
    this.end.leave();
    if (this.#oldest === Infinity) await this.refresh(true);
    for (let pages = 0; seq < this.#oldest && pages < MAX_PAGES_TO_FOUND; pages += 1) {
      const before = this.#oldest;
      await this.loadEarlier(FOUND_PAGE_SIZE);
      if (this.#ended.signal.aborted || this.#oldest === before) break;
    }
    const key = this.#keys.get(this.#turnIds.get(seq) ?? '');
    if (key !== undefined && !this.#ended.signal.aborted) this.end.goTo(`[data-key="${key}"]`);
  }

  /** Loads the messages before the oldest one shown; the view does not move. Rejects with `ApiError`. */
  async loadEarlier(limit: number = PAGE_SIZE): Promise<void> {
    if (this.#oldest <= 1 || this.#oldest === Infinity) return;
    this.#loading ??= this.#loadBefore(this.#oldest, limit).finally(() => (this.#loading = undefined));
    await this.#loading;
  }

  async #loadBefore(before: number, limit: number): Promise<void> {
    const read = await api.messagesWithWork(this.key, { limit, before });
    if (this.#ended.signal.aborted) return;
    if (read.messages.length === 0) this.#oldest = 1;
    this.end.keepPlace(() => this.#addMessages(read));
  }

  /** Applies an event of the session. */
  apply(event: AgentEvent): void {
    if (!this.#deltas.add(event)) this.#reduce(event);
  }

  #reduce(event: AgentEvent): void {
    if (event.type === 'plan_edited') {
      for (const key of this.#turns.keys()) this.#update(key, (turn) => applyPlan(turn, event));
      return;
    }
    const turnId = event.turnId ?? this.#agents.get(event.agentId);
    if (turnId === undefined) return;
    // A subagent in the background outlives its turn; its events are still shown in the turn that started it.
    if (event.type === 'subagent_spawned') this.#agents.set(event.agentId, turnId);
    if (event.type === 'subagent_completed') this.#agents.delete(event.agentId);
    if (event.type === 'messages_joined') for (const id of event.turnIds) this.#change(id, joinedTurn);
    this.#change(turnId, (turn) => applyToTurn(turn, event, Date.now()));
    // A snapshot stands for lost events, perhaps including those of the plan.
    if (event.type === 'snapshot') this.#plans.loadQuietly();
    if (event.type === 'turn_started' || event.type === 'turn_ended') this.#countWaiting();
    if (event.type === 'turn_ended') this.#removeBlank(turnId);
  }

  /** Removes a turn without an answer, such as a heartbeat; what is stored of it comes with the next refresh. */
  #removeBlank(turnId: string): void {
    const turn = this.#turn(turnId)?.peek();
    if (turn !== undefined && isBlank(turn)) this.#remove(this.#keys.get(turnId) ?? '');
  }

  /** Shows a message that is being sent; the returned functions report the outcome. */
  sending(content: string, attachments: readonly ShownFile[]) {
    const question = { seq: Infinity, content, attachments };
    const key = this.#add({ ...newTurn(), question, sending: 'sending' });
    this.end.go();
    // The line of a "/new" may arrive before the answer to it.
    const lines = this.#items().filter((item) => 'resetAt' in item);
    return {
      accepted: (receipt: { turnId: string; seq: number }) => {
        this.#accept(key, receipt, question);
        this.end.go();
      },
      handled: (reply: string | null) => {
        const seqs = [...this.#shown(), ...lines].map(({ seq }) => seq).filter((seq) => seq !== Infinity);
        const answer = { after: Math.floor(Math.max(0, ...seqs)), content };
        this.#showCommand(this.#commands.keep({ ...answer, reply: reply ?? say('page.chat.done') }), key);
      },
      failed: (error: unknown, retry: () => void) =>
        this.#update(key, (turn) => ({ ...turn, sending: { error, retry } })),
      again: () => this.#update(key, (turn) => ({ ...turn, sending: 'sending' })),
      /** Removes it, because it is in the message field again; true when nothing else is shown. */
      takeBack: () => {
        this.#remove(key);
        return this.#shown().length === 0;
      },
    };
  }

  #accept(key: string, { turnId, seq }: { turnId: string; seq: number }, question: ShownQuestion): void {
    batch(() => {
      if (this.#keys.has(turnId)) this.#remove(key);
      else this.#keys.set(turnId, key);
      this.#change(turnId, (turn) => {
        const next = withQuestion({ ...turn, marks: { ...turn.marks, turnId } }, { ...question, seq });
        return next.state === 'unknown' ? { ...next, state: 'waiting' } : next;
      });
      this.#countWaiting();
    });
  }

  /** Shows the commands of the loaded part that this browser has kept; returns whether anything is shown. */
  showCommands(): boolean {
    const hasCommands = this.#commands.show(this.#oldest === Infinity ? 0 : this.#oldest - 1);
    return hasCommands || this.#shown().length > 0;
  }

  /** A command is not a message: it is shown after the last one before it, and before the next. */
  #showCommand({ after, content, reply }: CommandAnswer, key = this.#add(newTurn())): void {
    this.#update(key, (turn) => {
      const next = withQuestion({ ...turn, seq: Infinity }, { seq: after + 0.5, content });
      return { ...next, answer: withNote(next.answer, reply) };
    });
  }

  /** Shows on each waiting message how many are ahead of it. */
  #countWaiting(): void {
    const open = this.#items().filter(
      (item) => 'turn' in item && ['waiting', 'running'].includes(item.turn.peek().state),
    );
    for (const [ahead, { key }] of open.entries())
      this.#update(key, (turn) =>
        turn.state === 'waiting' && ahead > 0 ? waitingBehind(turn, ahead) : turn,
      );
  }

  /** Sets the approvals that plans of this chat wait for; their panels show them. */
  setPlanApprovals(approvals: Approval[]): void {
    this.#plans.setApprovals(approvals);
  }

  #addMessages(read: { messages: Message[]; resets: Reset[]; steps: TurnWork[] }): void {
    const now = Date.now();
    this.#deltas.flush();
    batch(() => {
      for (const work of read.steps) this.#change(work.turnId, (turn) => withWork(turn, work, now));
      for (const message of read.messages) {
        this.#oldest = Math.min(this.#oldest, message.seq);
        this.#turnIds.set(message.seq, message.turnId);
        // Messages of the gateway (a schedule's task, a subagent's report) are questions as well.
        const isQuestion = message.role !== 'assistant';
        this.#change(message.turnId, (turn) =>
          isQuestion ? withQuestion(turn, message) : withAnswer(turn, message, now),
        );
      }
      for (const reset of read.resets) this.#showReset(reset);
      this.#showVisibilities();
      this.hasEarlier.value = this.#oldest > 1 && this.#oldest < Infinity;
      this.showCommands();
    });
  }

  #showVisibilities(): void {
    const marks = this.#shown().map((turn) => turn.marks);
    const visibilities = turnVisibilities(marks.filter(({ turnId }) => turnId !== ''));
    for (const [turnId, visibility] of visibilities) {
      const key = this.#keys.get(turnId);
      if (key !== undefined) this.#update(key, (turn) => withVisibility(turn, visibility));
    }
  }

  /** A repeated `/new` moves its line. Commands after its message are placed at a half: later ones are below the line. */
  #showReset({ after, at }: Reset): void {
    const line = this.#resets.get(after);
    if (line?.resetAt === at) return;
    const newLine = { key: `reset ${after} ${at}`, seq: after + 0.25, resetAt: at };
    this.#resets.set(after, newLine);
    const others = line === undefined ? this.groups.peek() : remove(this.groups.peek(), line.key);
    this.groups.value = place(others, newLine);
  }

  #turn(turnId: string): Signal<Turn> | undefined {
    return this.#turns.get(this.#keys.get(turnId) ?? '');
  }

  /** Changes a turn by its id; shows it if it is not shown yet. */
  #change(turnId: string, update: (turn: Turn) => Turn): void {
    const key = this.#keys.get(turnId);
    if (key === undefined) this.#keys.set(turnId, this.#add(update(newTurn(turnId))));
    else this.#update(key, update);
  }

  #update(key: string, update: (turn: Turn) => Turn): void {
    const turn = this.#turns.get(key);
    if (turn === undefined) return;
    const current = turn.peek();
    const next = update(current);
    turn.value = next;
    if (next.seq !== current.seq) this.groups.value = move(this.groups.peek(), { key, seq: next.seq, turn });
  }

  /** Shows a turn; returns its key. */
  #add(first: Turn): string {
    const key = `turn ${(this.#keyCount += 1)}`;
    const turn = signal(first);
    this.#turns.set(key, turn);
    this.groups.value = place(this.groups.peek(), { key, seq: first.seq, turn });
    return key;
  }

  #remove(key: string): void {
    this.#turns.delete(key);
    for (const [turnId, other] of this.#keys) if (other === key) this.#keys.delete(turnId);
    this.groups.value = remove(this.groups.peek(), key);
  }
}
