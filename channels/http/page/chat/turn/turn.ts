/** One turn of a conversation: what its messages and events say about it. Pure; `turn-view.tsx` draws it. */
import type { Todo } from '../../../../../src/protocol/store/notes.ts';
import type { AgentEvent, TurnEndReason } from '../../../../../src/protocol/event.ts';
import type { Plan } from '../../../../../src/protocol/agent/plan.ts';
import { advancePlan, type PlanEventView } from '../../../../../src/protocol/isomorphic/plan-reducer.js';
import type { Message, TurnWork } from '../../api.ts';
import type { PlanHost } from '../../plan/plan-panel.tsx';
import { number, say } from '../../texts.ts';
import type { ChatFiles, ShownFile } from '../files.tsx';
import {
  type Answer,
  applyNested,
  applyToAnswer,
  finishAnswer,
  NO_ANSWER,
  textOf,
  withNote,
  withoutNote,
  withStoredText,
} from './answer.ts';
import { answerMarks, type TurnMarks, type TurnVisibility } from './turn-visibility.ts';

/** A question as it is shown: a stored message, or what is known about one that was just sent. */
export type ShownQuestion = Pick<Message, 'seq' | 'content'> &
  Partial<Pick<Message, 'role' | 'turnId' | 'leftOut' | 'tries' | 'senderName'>> & {
    attachments?: readonly ShownFile[];
  };

/** A message that was not sent: why, and what sends it again. */
export interface Unsent {
  error: unknown;
  retry: () => void;
}

export interface Turn {
  /** Position in the conversation: the number of the first message; a message not yet accepted comes last. */
  seq: number;
  state: 'unknown' | 'waiting' | 'running' | 'ended';
  question: ShownQuestion | undefined;
  /** Undefined once its message is accepted. */
  sending: 'sending' | Unsent | undefined;
  plan: PlanEventView | undefined;
  /** The stored message of its plan, shown until the plan itself is known. */
  planText: string | undefined;
  /** Number of events that have changed its plan. */
  planEvents: number;
  todos: readonly Pick<Todo, 'text' | 'status'>[];
  answer: Answer;
  /** The stored answer that was read last. */
  stored: Message | undefined;
  /** Files of its answers, by the number of their message. */
  files: ReadonlyMap<number, readonly ShownFile[]>;
  /** A line below the answer. */
  status: string;
  /** Moving dots are shown below the answer: nothing of it grows, and more comes. */
  isBusy: boolean;
  /** Events of it are known to be lost. */
  missedEvents: boolean;
  /** Its thinking and tool calls were loaded. */
  isRestored: boolean;
  /** What its stored messages say about it. */
  marks: TurnMarks;
  visibility: TurnVisibility | undefined;
}

/** What people do with a turn. */
export type TurnAct =
  | { do: 'fork'; seq: number }
  | { do: 'retry' }
  | { do: 'choose'; turnId: string }
  | { do: 'undo'; turnId: string }
  | { do: 'trace'; turnId: string }
  | { do: 'edit'; seq: number; content: string; files: readonly string[] }
  /** Asks the last question again in other words. */
  | { do: 'reword'; content: string };

/** What the turns of a chat work with. */
export interface TurnHost {
  files: ChatFiles;
  plans: PlanHost;
  /** False when it could not be done; a note has said why. */
  act: (act: TurnAct) => Promise<boolean>;
}

/** A turn of which nothing is known yet. */
export function newTurn(turnId = ''): Turn {
  return {
    seq: Infinity,
    state: 'unknown',
    question: undefined,
    sending: undefined,
    plan: undefined,
    planText: undefined,
    planEvents: 0,
    todos: [],
    answer: NO_ANSWER,
    stored: undefined,
    files: new Map(),
    status: '',
    isBusy: false,
    missedEvents: false,
    isRestored: false,
    marks: { turnId },
    visibility: undefined,
  };
}

/** The note that says that the model server is waited for. */
const MODEL_NOTE = 'model';

/** True while it shows nothing. */
export function isBlank({ question, plan, planText, todos, answer, stored, status }: Turn): boolean {
  const parts = answer.parts.filter((part) => part.kind !== 'text' || part.text !== '');
  const isEmpty = [question, plan, planText, stored].every((one) => one === undefined);
  return isEmpty && status === '' && todos.length === 0 && parts.length === 0;
}

/** True once it has ended without all its events: its thinking and tool calls must be loaded. */
export function missesWork({ state, missedEvents, answer }: Turn): boolean {
  return state === 'ended' && (missedEvents || answer.missesParts);
}

/** The turn with the message of the user. */
export function withQuestion(turn: Turn, message: ShownQuestion): Turn {
  const { turnId = turn.marks.turnId, leftOut: questionLeftOut, tries } = message;
  // The files of a message are stored only once its turn has begun.
  const attachments = message.attachments?.length ? message.attachments : turn.question?.attachments;
  return {
    ...turn,
    seq: Math.min(turn.seq, message.seq),
    marks: { ...turn.marks, turnId, questionLeftOut, ...(tries && { tries }) },
    question: { ...message, ...(attachments && { attachments }) },
    sending: undefined,
  };
}

/** The turn with its stored answer, or with the message of its plan. */
export function withAnswer(turn: Turn, message: Message, now: number): Turn {
  const seq = Math.min(turn.seq, message.seq);
  if (message.isPlan) return { ...turn, seq, planText: message.content };
  const answer = withStoredText(turn.answer, message.content, message.isError);
  return {
    ...turn,
    seq,
    answer: turn.isRestored ? finishAnswer(answer, now) : answer,
    stored: message,
    marks: { ...turn.marks, ...answerMarks(message) },
    files: message.attachments?.length
      ? new Map([...turn.files, [message.seq, message.attachments]])
      : turn.files,
  };
}

/** The turn with its stored thinking, tool calls and subagents, unless all of them were seen while they happened. */
export function withWork(turn: Turn, { events, complete }: TurnWork, now: number): Turn {
  if (!missesWork(turn) && turn.answer.parts.length > 0) return turn;
  const moment = { now, isRestoring: true };
  let answer = complete ? NO_ANSWER : withNote(NO_ANSWER, say('page.turn.too_many'));
  for (const event of events) {
    if (event.agentId !== undefined) answer = applyNested(answer, event, event.agentId, moment);
    else [answer] = applyToAnswer(answer, event, moment);
  }
  return { ...turn, answer, missedEvents: false, isRestored: events.length > 0 };
}

/** The turn with its stored plan, unless events have shown a newer one; `isNewest` when events were missed. */
export function withPlan(turn: Turn, plan: Plan, isNewest: boolean): Turn {
  return turn.planEvents === 0 || isNewest || turn.state === 'ended' ? { ...turn, plan: { plan } } : turn;
}

/** The turn with its plan as a change of this page left it, unless that change or a later one is shown already. */
export function withEditedPlan(turn: Turn, plan: Plan): Turn {
  const current = turn.plan?.plan;
  if (current?.id !== plan.id || (plan.version ?? 1) <= (current.version ?? 1)) return turn;
  return { ...turn, plan: { ...turn.plan, plan }, planEvents: turn.planEvents + 1 };
}

/** The turn as one of several answers, or as taken back. */
export function withVisibility(turn: Turn, visibility: TurnVisibility): Turn {
  const isSame = JSON.stringify(turn.visibility) === JSON.stringify(visibility);
  const isOver = visibility.isTakenBack && turn.state === 'waiting';
  if (isSame && !isOver) return turn;
  return { ...turn, visibility, ...(isOver && { state: 'ended', status: '' }) };
}

/** The turn while other messages of the session are ahead of it. */
export function waitingBehind(turn: Turn, count: number): Turn {
  return { ...turn, isBusy: false, status: say('page.turn.waits', { count }) };
}

/** The turn whose message became part of the turn before it. */
export function joinedTurn(turn: Turn): Turn {
  return { ...turn, state: 'ended', isBusy: false, status: say('page.turn.joined') };
}

/** The turn after an event of it, or of one of its subagents. */
export function applyToTurn(turn: Turn, event: AgentEvent, now: number): Turn {
  const moment = { now, isRestoring: false };
  // What was loaded ends before the first event; a turn that resumes does not repeat what it said before.
  const base = event.type === 'snapshot' ? { ...turn, missedEvents: true } : turn;
  if (event.isSubagent === true || event.type.startsWith('subagent_'))
    return { ...base, answer: applyNested(base.answer, event, String(event.agentId), moment) };
  const [answer, activity] = applyToAnswer(base.answer, event, moment);
  if (activity !== undefined) return { ...base, answer, status: '', isBusy: activity === 'idle' };
  return applyOwn(applyPlan({ ...base, answer }, event), event, now);
}

/** The turn after an event of its plan, also one that came from elsewhere. */
export function applyPlan(turn: Turn, event: AgentEvent): Turn {
  const plan = advancePlan(turn.plan, event);
  return plan === turn.plan ? turn : { ...turn, plan, planEvents: turn.planEvents + 1 };
}

function applyOwn(turn: Turn, event: AgentEvent, now: number): Turn {
  const addNote = (text: string, id?: string): Turn => ({ ...turn, answer: withNote(turn.answer, text, id) });
  switch (event.type) {
    case 'turn_started':
      return { ...turn, state: 'running', status: '', isBusy: true };
    case 'todo_changed':
      return { ...turn, todos: event.items };
    case 'context_compressed':
      return addNote(
        say('page.part.compressed', { before: number(event.before), after: number(event.after) }),
      );
    case 'profile_switched':
      return addNote(say('page.turn.profile', { profile: event.profileId }));
    case 'notice':
      return addNote(event.text, event.code === 'model_unavailable' ? MODEL_NOTE : undefined);
    case 'turn_ended':
      return ended(turn, event.reason, now);
    default:
      return turn;
  }
}

/** Shown where a turn ended without a text. */
const ENDINGS: Partial<Record<TurnEndReason, string>> = {
  stopped: say('page.part.ended_stopped'),
  interrupted: say('page.part.ended_interrupted'),
};

function ended(turn: Turn, reason: TurnEndReason, now: number): Turn {
  // The error says it then.
  const answerSoFar = reason === 'failed' ? withoutNote(turn.answer, MODEL_NOTE) : turn.answer;
  const answer = finishAnswer(answerSoFar, now);
  const ending = textOf(answer) === '' ? ENDINGS[reason] : undefined;
  return {
    ...turn,
    answer: ending === undefined ? answer : withNote(answer, ending),
    state: 'ended',
    status: '',
    isBusy: false,
  };
}
