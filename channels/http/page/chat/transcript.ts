/** One session's conversation: its stored messages, its live turns, and the scroll position. */
import type { Message, Approval, Api, Reset, TurnWork } from '../api.ts';
import type { AgentEvent } from '../../../../src/protocol/event.ts';
import { byId, h } from '../dom.ts';
import { ChatPlans } from './chat-plans.ts';
import { type CommandAnswer, CommandAnswers } from '../commands/command-answers.ts';
import { EndOfList } from './end-of-list.ts';
import { FileViews, type ShownFile } from './file-views.ts';
import { plainText } from '../markdown/plain-text.ts';
import { ResetLines } from './turn/reset-line.ts';
import { turnVisibilities } from './turn/turn-visibility.ts';
import { showTrace, traceOf } from './turn/trace-panel.ts';
import { TurnList } from './turn/turn-list.ts';
import { TurnView } from './turn/turn-view.ts';
import { say } from '../texts.ts';

const PAGE_SIZE = 50;
/** Messages per request while loading up to a message that a search found, and the most such requests. */
const FOUND_PAGE_SIZE = 200;
const MAX_PAGES_TO_FOUND = 50;

/** The conversation of one session, from opening to `close`. */
export class Transcript {
  #api;
  #key;
  #list = byId('transcript', HTMLElement);
  #shown = new TurnList(this.#list);
  #turns: Map<string, TurnView> = new Map();
  /** Turn ids by the numbers of stored messages. */
  #turnIds: Map<number, string> = new Map();
  /** Turn ids by the agent ids of their subagents. */
  #agents: Map<string | undefined, string> = new Map();
  #resets = new ResetLines(this.#shown);
  #plans;
  #files;
  #commands;
  #oldest = Infinity;
  #end;
  /** The load of earlier messages that is under way. */
  #loading: Promise<void> | undefined;
  #earlier = h(
    'button',
    { type: 'button', class: 'earlier', hidden: true, onclick: () => void this.loadEarlier() },
    say('page.chat.earlier'),
  );
  #ended = new AbortController();

  /** @param acts listens to the buttons of turns until the signal aborts */
  constructor(api: Api, key: string, acts: (signal: AbortSignal) => void) {
    this.#api = api;
    this.#key = key;
    this.#plans = new ChatPlans(api, key, {
      turns: () => [...this.#turns.values()],
      known: (turnId) => this.#turns.get(turnId),
      turnOf: (turnId) => this.#turnOf(turnId),
      place: (turn) => this.#shown.place(turn),
      signal: this.#ended.signal,
    });
    this.#files = new FileViews(api, key);
    this.#list.replaceChildren(this.#earlier);
    const { signal } = this.#ended;
    this.#end = new EndOfList(signal, () => this.#earlier.hidden || void this.loadEarlier());
    this.#list.addEventListener('trace', (event) => this.#showTrace(traceOf(event)), { signal });
    acts(signal);
    this.#commands = new CommandAnswers(key, signal, (answer) => this.#showCommand(answer));
    this.#end.look();
  }

  /** True while a turn of this session runs, by the events so far. */
  get running() {
    return this.#shown.turns.some((turn) => turn.state === 'running');
  }

  /** Opens the trace of the newest answer. */
  showNewestTrace() {
    const turnId = this.#shown.turns.findLast(({ marks }) => marks.turnId !== '')?.marks.turnId;
    if (turnId !== undefined) this.#showTrace(turnId);
  }

  /** The text of a turn's answer, as it is read aloud. */
  spokenText(turnId: string | undefined = '') {
    return plainText(this.#turns.get(turnId)?.text ?? '');
  }

  close() {
    this.#files.close();
    this.#ended.abort();
  }

  /**
   * Loads the newest stored messages and updates those on screen. `withWork` also loads the thinking and the tool calls
   * of turns, whose events may not all have been seen.
   */
  async refresh(withWork: boolean) {
    const page = { limit: PAGE_SIZE };
    const isWhole = withWork || [...this.#turns.values()].some(({ missesWork }) => missesWork);
    const read = isWhole
      ? await this.#api.messagesWithWork(this.#key, page)
      : { steps: [], ...(await this.#api.messages(this.#key, page)) };
    if (this.#ended.signal.aborted) return;
    this.#addMessages(read);
    if (read.messages.some(({ isPlan }) => isPlan)) await this.#plans.load(false);
  }

  /** Loads everything from a message to the end, and goes to the message, which is marked. */
  async show(seq: number) {
    this.#end.leave();
    if (this.#oldest === Infinity) await this.refresh(true);
    for (let pages = 0; seq < this.#oldest && pages < MAX_PAGES_TO_FOUND; pages += 1) {
      const before = this.#oldest;
      await this.loadEarlier(FOUND_PAGE_SIZE);
      if (this.#ended.signal.aborted || this.#oldest === before) break;
    }
    const turn = this.#turns.get(this.#turnIds.get(seq) ?? '');
    if (turn !== undefined && !this.#ended.signal.aborted) this.#end.goTo(turn.element);
  }

  /** Loads the messages before the oldest one shown; the view does not move. */
  async loadEarlier(limit: number = PAGE_SIZE) {
    if (this.#oldest <= 1 || this.#oldest === Infinity) return;
    this.#loading ??= this.#loadBefore(this.#oldest, limit).finally(() => (this.#loading = undefined));
    await this.#loading;
  }

  async #loadBefore(before: number, limit: number) {
    const read = await this.#api.messagesWithWork(this.#key, { limit, before });
    if (this.#ended.signal.aborted) return;
    if (read.messages.length === 0) this.#oldest = 1;
    this.#end.keepPlace(() => this.#addMessages(read));
  }

  apply(event: AgentEvent) {
    if (event.type === 'plan_edited') {
      for (const turn of this.#turns.values()) turn.applyToPlan(event);
      return;
    }
    const turnId = event.turnId ?? this.#agents.get(event.agentId);
    if (turnId === undefined) return;
    // A subagent in the background outlives its turn; its events are still shown in the turn that started it.
    if (event.type === 'subagent_spawned') this.#agents.set(event.agentId, turnId);
    if (event.type === 'subagent_completed') this.#agents.delete(event.agentId);
    if (event.type === 'messages_joined')
      for (const joinedId of event.turnIds) this.#turnOf(joinedId).markJoined();
    const turn = this.#turnOf(turnId);
    turn.apply(event);
    this.#shown.place(turn);
    // A snapshot stands for lost events, perhaps including those of the plan.
    if (event.type === 'snapshot') this.#plans.loadQuietly();
    if (event.type === 'turn_started' || event.type === 'turn_ended') this.#countWaiting();
    if (event.type === 'turn_ended' && turn.isBlank) this.#removeTurn(turnId, turn);
  }

  /** Removes a turn without an answer, such as a heartbeat; what is stored of it comes with the next refresh. */
  #removeTurn(turnId: string, turn: TurnView) {
    this.#shown.remove(turn);
    this.#turns.delete(turnId);
  }

  /** Shows a message that is being sent; the returned functions report the outcome. */
  sending(content: string, attachments: readonly ShownFile[]) {
    const turn = this.#newTurn();
    turn.question.setSending(content, attachments);
    this.#shown.place(turn);
    this.#end.go();
    // The line of a "/new" may arrive before the answer to it.
    const { lines } = this.#shown;
    return {
      accepted: ({ turnId, seq }: { turnId: string; seq: number }) => {
        if (this.#turns.has(turnId)) this.#shown.remove(turn);
        else {
          this.#turns.set(turnId, turn);
          turn.setTurnId(turnId);
        }
        const acceptedTurn = this.#turnOf(turnId);
        acceptedTurn.setQuestion({ seq, content, attachments });
        if (acceptedTurn.state === 'unknown') acceptedTurn.state = 'waiting';
        this.#shown.place(acceptedTurn);
        this.#countWaiting();
        this.#end.go();
      },
      handled: (reply: string | null) => {
        const last = this.#shown.lastSeq(lines);
        const answer = { content, reply: reply ?? say('page.chat.done') };
        this.#showCommand(this.#commands.keep({ after: Math.floor(last), ...answer }), turn);
      },
      failed: (error: unknown, retry: () => void) => turn.question.setUnsent(error, retry),
      again: () => turn.question.setSending(content, attachments),
      /** Removes it, because it is in the message field again; true when nothing else is shown. */
      takeBack: () => {
        this.#shown.remove(turn);
        return this.#shown.turns.length === 0;
      },
    };
  }

  /** Shows the commands of the loaded part that this browser has kept; returns whether anything is shown. */
  showCommands() {
    const hasCommands = this.#commands.show(this.#oldest === Infinity ? 0 : this.#oldest - 1);
    return hasCommands || this.#shown.turns.length > 0;
  }

  /** A command is not a message: it is shown after the last one before it, and before the next. */
  #showCommand({ after, content, reply }: CommandAnswer, turn: TurnView = this.#newTurn()) {
    turn.setQuestion({ seq: after + 0.5, content });
    turn.addNote(reply);
    this.#shown.place(turn);
  }

  /** Shows on each waiting message how many are ahead of it. */
  #countWaiting() {
    const open = this.#shown.turns.filter(({ state }) => state === 'waiting' || state === 'running');
    for (const [before, turn] of open.entries()) {
      if (turn.state === 'waiting' && before > 0) turn.showQueuePosition(before);
    }
  }

  /** Sets the approvals that plans of this chat wait for; their panels show them. */
  setPlanApprovals(approvals: Approval[]) {
    this.#plans.setApprovals(approvals);
  }

  #addMessages({ messages, resets, steps }: { messages: Message[]; resets: Reset[]; steps: TurnWork[] }) {
    for (const work of steps) this.#turnOf(work.turnId).setWork(work);
    for (const message of messages) {
      this.#oldest = Math.min(this.#oldest, message.seq);
      this.#turnIds.set(message.seq, message.turnId);
      const turn = this.#turnOf(message.turnId);
      // Messages of the gateway (a schedule's task, a subagent's report) are questions as well.
      if (message.role !== 'assistant') turn.setQuestion(message);
      else if (message.isPlan) turn.setPlan(message);
      else turn.setAnswer(message);
      this.#shown.place(turn);
    }
    this.#resets.show(resets);
    const turns = this.#shown.turns;
    const visibilities = turnVisibilities(
      turns.map(({ marks }) => marks).filter(({ turnId }) => turnId !== ''),
    );
    for (const turn of turns) {
      const visibility = visibilities.get(turn.marks.turnId);
      if (visibility !== undefined) turn.setVisibility(visibility);
    }
    this.#earlier.hidden = this.#oldest <= 1 || this.#oldest === Infinity;
    this.showCommands();
  }

  #showTrace(turnId: string) {
    void showTrace((include) => this.#api.conversations.trace(turnId, include));
  }

  #turnOf(turnId: string) {
    const knownTurn = this.#turns.get(turnId);
    if (knownTurn !== undefined) return knownTurn;
    const turn = this.#newTurn();
    turn.setTurnId(turnId);
    this.#turns.set(turnId, turn);
    return turn;
  }

  #newTurn() {
    return new TurnView(this.#plans.host, this.#files);
  }
}
