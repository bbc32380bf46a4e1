/** One turn: the message and its answer, which grows with events and is replaced by the stored text. */
import type { AgentEvent, TurnEndReason } from '../../../../../src/protocol/event.ts';
import type { Message, TurnWork } from '../../api.ts';
import type { FileViews } from '../file-views.ts';
import type { Plan } from '../../../../../src/protocol/agent/plan.ts';
import { AnswerParts } from './answer-parts.ts';
import { h } from '../../dom.ts';
import { LiveMarkdown } from '../../markdown/view.ts';
import type { PlanHost } from '../../plan/plan-panel.tsx';
import { PlanView, TodoView } from '../../plan/plan-view.tsx';
import { answerMarks, type TurnMarks, type TurnVisibility } from './turn-visibility.ts';
import { SentFiles } from './sent-files.ts';
import { footOf, takenBackLine, trySwitch } from './turn-acts.ts';
import { traceButton } from './trace-panel.ts';
import { compressed, ENDINGS, workingDots } from './turn-parts.ts';
import { QuestionPart, type ShownQuestion } from './question-part.ts';
import { say } from '../../texts.ts';

/** A message and its answer, shown in `element`. */
export class TurnView {
  /** Position in the conversation: the number of the first message; a message not yet accepted comes last. */
  seq = Infinity;
  /** The `seq` by which it was placed last. */
  placedAt: number | undefined;
  state: 'unknown' | 'waiting' | 'running' | 'ended' = 'unknown';
  /** Events of it are known to be lost. */
  #missed = false;
  /** Its thinking and tool calls were loaded. */
  #isRestored = false;
  #question;
  #plan;
  #todos = new TodoView();
  #answer;
  #sent;
  /** What its stored messages say about it. */
  marks: TurnMarks = { turnId: '' };
  /** What `setVisibility` drew last: it is called after every load, for every turn. */
  #visibility = '';
  #tries = h('span');
  #takenBack = h('p', { class: 'turn-note', hidden: true });
  /** That it waits for the model server. */
  #modelNote: HTMLElement | undefined;
  #status = h('p', { class: 'turn-status', hidden: true });
  #foot = h('div', { class: 'turn-foot', hidden: true });
  element;

  constructor(planHost: PlanHost, files: FileViews) {
    const owner = files.newOwner();
    this.#question = new QuestionPart(files, owner);
    this.#sent = new SentFiles(files, owner);
    this.#plan = new PlanView(planHost);
    this.#answer = new AnswerParts(() => this.#sent.place(this.#answer.element));
    this.element = h(
      'article',
      { class: 'turn' },
      this.#question.element,
      this.#plan.element,
      this.#todos.element,
      this.#answer.element,
      this.#sent.element,
      this.#status,
      this.#takenBack,
      this.#foot,
    );
  }

  /** True while it shows nothing; a text is drawn in the next frame. */
  get isBlank() {
    const children = [...this.element.children].filter((child) => child !== this.#foot);
    return this.text === '' && children.every(({ textContent }) => textContent.trim() === '');
  }

  /**
   * Lets its trace be opened from now on, whether or not it has an answer; `setAnswer` adds what can be done with one.
   */
  setTurnId(turnId: string) {
    if (this.#foot.childElementCount > 0) return;
    this.#foot.replaceChildren(traceButton(turnId));
    this.#foot.hidden = false;
  }

  /** All text of the answer so far. */
  get text() {
    return this.#answer.text;
  }

  /** Shows the stored message of the user. */
  setQuestion(message: ShownQuestion) {
    this.seq = Math.min(this.seq, message.seq);
    const { turnId = this.marks.turnId, leftOut: questionLeftOut } = message;
    this.marks = { ...this.marks, turnId, questionLeftOut };
    this.#question.set(message);
  }

  /** The part with the message, which also shows whether it could be sent. */
  get question() {
    return this.#question;
  }

  /** Shows the stored plan message. */
  setPlan(message: Message) {
    this.seq = Math.min(this.seq, message.seq);
    const text = new LiveMarkdown();
    text.set(message.content);
    this.#plan.setText(text.element);
  }

  /** The id of its plan, once that is known. */
  get planId() {
    return this.#plan.planId;
  }

  /** Number of events that changed its plan. */
  get planEventCount() {
    return this.#plan.eventCount;
  }

  /** Applies a change of the plan that came from elsewhere. */
  applyToPlan(event: AgentEvent) {
    this.#plan.apply(event);
  }

  /** Shows its plan as the page's own change left it. */
  setEditedPlan(plan: Plan) {
    this.#plan.setEdited(plan);
  }

  /** Shows the stored plan; `isNewest` when events were missed. */
  setPlanState(plan: Plan, isNewest: boolean) {
    this.#plan.set(plan, isNewest || this.state === 'ended');
  }

  /** Shows the stored answer. */
  setAnswer(message: Message) {
    this.seq = Math.min(this.seq, message.seq);
    this.#answer.setStored(message.content, message.isError);
    if (this.#isRestored) this.#answer.finish();
    this.#foot.replaceChildren(...footOf(message, this.#tries));
    this.#foot.hidden = false;
    this.marks = { ...this.marks, ...answerMarks(message) };
    this.#sent.set(message.seq, message.attachments ?? []);
    this.#sent.place(this.#answer.element);
  }

  /** Shows it as one of several answers, or as taken back. */
  setVisibility(visibility: TurnVisibility) {
    const { isHidden, isTakenBack, isLast, place } = visibility;
    const snapshot = JSON.stringify([visibility, this.marks.answerLeftOut, isTakenBack && this.state]);
    if (snapshot === this.#visibility) return;
    this.#visibility = snapshot;
    this.element.classList.toggle('other-answer', isHidden);
    this.element.classList.toggle('taken-back', isTakenBack);
    this.element.classList.toggle('last', isLast);
    this.#tries.replaceChildren(...trySwitch(place));
    this.#takenBack.hidden = !isTakenBack || isHidden;
    this.#takenBack.replaceChildren(...(isTakenBack ? takenBackLine(this.marks) : []));
    if (!isTakenBack || this.state !== 'waiting') return;
    this.state = 'ended';
    this.#setStatus('');
  }

  /** Shows that other messages of the session are ahead of this one. */
  showQueuePosition(before: number) {
    this.#setStatus(say('page.turn.waits', { count: before }));
  }

  /** Marks a message that became part of the turn before it. */
  markJoined() {
    this.state = 'ended';
    this.#setStatus(say('page.turn.joined'));
  }

  /** True once it has ended without all its events: its thinking and tool calls must be loaded. */
  get missesWork() {
    return this.state === 'ended' && (this.#missed || this.#answer.missesParts);
  }

  /** Shows the stored thinking, tool calls and subagents, unless all of them were seen while they happened. */
  setWork({ events, complete }: TurnWork) {
    if (!this.missesWork && !this.#answer.isEmpty) return;
    this.#missed = false;
    this.#answer.clear();
    if (!complete) this.#answer.addNote(say('page.turn.too_many'));
    this.#answer.isRestoring = true;
    for (const event of events) {
      const { agentId } = event;
      if (agentId === undefined) this.#answer.apply(event);
      else this.#answer.applyNested(event, agentId);
    }
    this.#answer.isRestoring = false;
    this.#isRestored = events.length > 0;
  }

  apply(event: AgentEvent) {
    // What was loaded ends before the first event; a turn that resumes does not repeat what it said before.
    if (event.type === 'snapshot') this.#missed = true;
    if (event.isSubagent === true || event.type.startsWith('subagent_'))
      this.#answer.applyNested(event, String(event.agentId));
    else this.#applyOwn(event);
  }

  /** Adds a note of the gateway to the answer. */
  addNote(text: string) {
    this.#answer.addNote(text);
  }

  #applyOwn(event: AgentEvent) {
    const activity = this.#answer.apply(event);
    if (activity !== undefined) {
      this.#setStatus('', activity === 'idle');
      return;
    }
    this.#plan.apply(event);
    switch (event.type) {
      case 'turn_started':
        this.state = 'running';
        this.#setStatus('', true);
        break;
      case 'todo_changed':
        this.#todos.set(event.items, this.#plan.descriptions);
        break;
      case 'context_compressed':
        this.#answer.addNote(compressed(event.before, event.after));
        break;
      case 'profile_switched':
        this.#answer.addNote(say('page.turn.profile', { profile: event.profileId }));
        break;
      case 'notice':
        this.#note(event);
        break;
      case 'turn_ended':
        this.#finish(event.reason);
        break;
      default:
    }
  }

  #note({ code, text }: Extract<AgentEvent, { type: 'notice' }>) {
    const note = this.#answer.addNote(text);
    if (code === 'model_unavailable') this.#modelNote = note;
  }

  #finish(reason: TurnEndReason) {
    // The error says it then.
    if (reason === 'failed') this.#modelNote?.remove();
    this.state = 'ended';
    this.#setStatus('');
    this.#answer.finish();
    const ending = ENDINGS[reason];
    if (ending !== undefined && this.text === '') this.#answer.addNote(ending);
  }

  /** A line under the answer; `dots` shows moving dots instead of a text. */
  #setStatus(text: string, dots: boolean = false) {
    this.#status.replaceChildren(dots ? workingDots() : text);
    this.#status.hidden = !dots && text === '';
  }
}
