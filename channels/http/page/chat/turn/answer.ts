/**
 * The parts of an answer in order, as events and the stored text make them: texts, thinking, tool calls, subagents, notes. The
 * same for a turn and a subagent. Pure: a part that did not change stays the same object.
 */
import type { EventBody } from '../../../../../src/protocol/event.ts';

/** Text of one call of the model. */
export interface TextPart {
  kind: 'text';
  id: string;
  text: string;
  /** More of it may come. */
  isGrowing: boolean;
  /** It says why there is no answer. */
  isError: boolean;
}

/** The model's thinking, or the text of other work named by `title`. */
export interface ThinkingPart {
  kind: 'thinking';
  id: string;
  title: string | undefined;
  text: string;
  isRunning: boolean;
  /** Epoch milliseconds. */
  startedAt: number;
  /** How long it took; undefined when it was not followed from its beginning. */
  seconds: number | undefined;
}

export type Decision = Extract<EventBody, { type: 'approval_decided' }>;

/** A tool call. */
export interface ToolPart {
  kind: 'tool';
  id: string;
  name: string;
  args: Record<string, unknown>;
  state: 'running' | 'waiting' | 'done' | 'failed' | 'denied' | 'unfinished';
  /** In the words of the tool, while it runs. */
  progress: string | undefined;
  result: string | undefined;
  decision: Decision | undefined;
  /** Subagents that work for this call. */
  agents: readonly AgentPart[];
}

/** A subagent, with its own answer. */
export interface AgentPart {
  kind: 'agent';
  id: string;
  profile: string;
  task: string;
  state: 'running' | 'waiting' | 'done' | 'failed';
  answer: Answer;
}

/** A note of the gateway, in Markdown. */
export interface NotePart {
  kind: 'note';
  id: string;
  text: string;
}

export type Part = TextPart | ThinkingPart | ToolPart | AgentPart | NotePart;
type PartOf<Kind extends Part['kind']> = Extract<Part, { kind: Kind }>;

export interface Answer {
  parts: readonly Part[];
  /** All of the text was set. */
  isStored: boolean;
  /** The stored text came before some of its events: thinking and tool calls may be missing. */
  missesParts: boolean;
  /** Model calls whose start was seen. */
  calls: readonly string[];
  /** Model calls whose whole text was loaded: their events may still arrive. */
  loaded: readonly string[];
}

export const NO_ANSWER: Answer = { parts: [], isStored: false, missesParts: false, calls: [], loaded: [] };

/** When an event is applied: `isRestoring` for what happened earlier. */
export interface Moment {
  /** Epoch milliseconds. */
  now: number;
  isRestoring: boolean;
}

/** Whether an answer shows activity after an event (`idle`: not before the next one); undefined: the event does not concern it. */
type Activity = 'active' | 'idle' | undefined;

/** Events whose outcome is part of the stored answer. */
const STORED = /^(stream_|thinking_|tool_|snapshot$)/;
/** The tool that starts subagents. */
const SPAWN_TOOL = 'spawn_agent';

/** All text so far. */
export function textOf({ parts }: Answer): string {
  return parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');
}

/** The answer after one event, and its activity. Never throws. */
export function applyToAnswer(answer: Answer, event: EventBody, moment: Moment): [Answer, Activity] {
  // It came late: what was loaded was ahead of it.
  if (answer.isStored && STORED.test(event.type)) return [{ ...answer, missesParts: true }, undefined];
  switch (event.type) {
    case 'turn_started':
      return [answer.isStored ? NO_ANSWER : answer, undefined];
    case 'thinking_started':
    case 'thinking_delta':
    case 'thinking_finished':
      return [applyThinking(answer, event, moment), 'active'];
    case 'stream_start':
      return [{ ...answer, calls: [...answer.calls, event.msgId] }, undefined];
    case 'stream_chunk':
      return addChunk(answer, event, moment);
    case 'stream_reset': {
      const loaded = answer.loaded.filter((id) => id !== event.msgId);
      const ofCall = (part: Part): boolean =>
        part.id === event.msgId && (part.kind === 'text' || part.kind === 'thinking');
      return [{ ...without(answer, ofCall), loaded }, 'idle'];
    }
    case 'snapshot': {
      const rest = { ...without(answer, ({ kind }) => kind === 'text'), calls: [], loaded: [] };
      return [event.text === '' ? rest : append(rest, 'snapshot', event.text), undefined];
    }
    case 'tool_call':
    case 'tool_progress':
    case 'tool_result':
    case 'approval_needed':
    case 'approval_decided':
      return applyTool(answer, event);
    default:
      return [answer, undefined];
  }
}

type ThinkingEvent = Extract<EventBody, { type: `thinking_${string}` }>;

function applyThinking(answer: Answer, event: ThinkingEvent, { now, isRestoring }: Moment): Answer {
  const { msgId: id } = event;
  const fresh: ThinkingPart = {
    kind: 'thinking',
    id,
    title: event.type === 'thinking_started' ? event.title : undefined,
    text: '',
    isRunning: true,
    startedAt: now,
    seconds: undefined,
  };
  // A repeated call starts its thinking over.
  if (event.type === 'thinking_started')
    return withPart(
      without(answer, (part) => part.kind === 'thinking' && part.id === id),
      fresh,
    );
  return change(answer, 'thinking', id, fresh, (part) =>
    event.type === 'thinking_delta'
      ? { ...part, text: part.text + event.delta }
      : thought(part, isRestoring ? undefined : now),
  );
}

function thought(part: ThinkingPart, now: number | undefined): ThinkingPart {
  const seconds = now === undefined ? undefined : Math.round((now - part.startedAt) / 1_000);
  return { ...part, isRunning: false, seconds };
}

function addChunk(
  answer: Answer,
  { msgId, delta }: { msgId: string; delta: string },
  { isRestoring }: Moment,
): [Answer, Activity] {
  const { loaded, calls } = answer;
  if (!isRestoring && loaded.includes(msgId)) return [answer, undefined];
  const base = isRestoring && !loaded.includes(msgId) ? { ...answer, loaded: [...loaded, msgId] } : answer;
  const texts = base.parts.filter(({ kind }) => kind === 'text');
  // A call whose beginning is in the snapshot continues there, so that its Markdown is parsed as one text.
  const continues = texts.length === 1 && texts[0]?.id === 'snapshot' && !calls.includes(msgId);
  const parts = continues
    ? base.parts.map((part) => (part.kind === 'text' ? { ...part, id: msgId } : part))
    : base.parts;
  return [append({ ...base, parts }, msgId, delta), 'active'];
}

function append(answer: Answer, id: string, text: string): Answer {
  const fresh: TextPart = { kind: 'text', id, text: '', isGrowing: true, isError: false };
  return change(answer, 'text', id, fresh, (part) => ({ ...part, text: part.text + text, isGrowing: true }));
}

type ToolEvent = Extract<
  EventBody,
  { type: 'tool_call' | 'tool_progress' | 'tool_result' | 'approval_needed' | 'approval_decided' }
>;

function applyTool(answer: Answer, event: ToolEvent): [Answer, Activity] {
  const { toolCallId: id = '' } = event;
  const changeTool = (update: (part: ToolPart) => ToolPart): Answer =>
    change(answer, 'tool', id, undefined, update);
  switch (event.type) {
    case 'tool_call':
      return [startTool(answer, event), 'active'];
    case 'tool_progress':
      return [changeTool((part) => (isRunning(part) ? { ...part, progress: event.text } : part)), 'active'];
    case 'tool_result':
      return [
        changeTool((part) => ({ ...part, state: outcomeOf(part, event), result: event.result })),
        'idle',
      ];
    case 'approval_needed':
      return [changeTool((part) => (isRunning(part) ? { ...part, state: 'waiting' } : part)), 'active'];
    default:
      return [changeTool((part) => decided(part, event)), undefined];
  }
}

function startTool(answer: Answer, event: Extract<EventBody, { type: 'tool_call' }>): Answer {
  const { toolCallId: id, name, args } = event;
  const fresh: ToolPart = {
    kind: 'tool',
    id,
    name,
    args,
    state: 'running',
    progress: undefined,
    result: undefined,
    decision: undefined,
    agents: [],
  };
  // A turn that resumes after a wait or a crash emits its open call again.
  return change(endTexts(answer), 'tool', id, fresh, (part) => (isRunning(part) ? part : fresh));
}

/** The call once it is decided; the decision of one that was restored may come after its result. */
function decided(part: ToolPart, decision: Decision): ToolPart {
  const isDenied = part.state === 'failed' && decision.decision === 'denied';
  const state = part.state === 'waiting' ? 'running' : isDenied ? 'denied' : part.state;
  return { ...part, state, decision };
}

/** What became of a call; one that a person has not allowed did not fail. */
function outcomeOf({ decision }: ToolPart, { isError }: { isError: boolean }): ToolPart['state'] {
  if (!isError) return 'done';
  return decision?.decision === 'denied' ? 'denied' : 'failed';
}

/** True until the result has come. */
export function isRunning({ state }: ToolPart | AgentPart): boolean {
  return state === 'running' || state === 'waiting';
}

/** The answer after an event of a subagent, which is shown under the call that started it. Never throws. */
export function applyNested(answer: Answer, event: EventBody, id: string, moment: Moment): Answer {
  const update = (agent: AgentPart): AgentPart => applyToAgent(agent, event, moment);
  if (event.type !== 'subagent_spawned' || hasAgent(answer, id)) return changeAgent(answer, id, update);
  const { profileId: profile, task } = event;
  const agent: AgentPart = { kind: 'agent', id, profile, task, state: 'running', answer: NO_ANSWER };
  const index = answer.parts.findLastIndex(
    (part) =>
      part.kind === 'tool' &&
      part.name === SPAWN_TOOL &&
      part.agents.length === 0 &&
      isRunning(part) &&
      (part.args['task'] === undefined || part.args['task'] === task),
  );
  const call = answer.parts[index];
  if (call?.kind !== 'tool') return withPart(answer, agent);
  return { ...answer, parts: answer.parts.with(index, { ...call, agents: [agent] }) };
}

function hasAgent({ parts }: Answer, id: string): boolean {
  return parts.some(
    (part) =>
      (part.kind === 'agent' && part.id === id) ||
      (part.kind === 'tool' && part.agents.some((agent) => agent.id === id)),
  );
}

function changeAgent(answer: Answer, id: string, update: (agent: AgentPart) => AgentPart): Answer {
  const of = (agent: AgentPart): AgentPart => (agent.id === id ? update(agent) : agent);
  const parts = answer.parts.map((part) => {
    if (part.kind === 'agent') return of(part);
    if (part.kind !== 'tool' || !part.agents.some((agent) => agent.id === id)) return part;
    return { ...part, agents: part.agents.map(of) };
  });
  return { ...answer, parts };
}

function applyToAgent(agent: AgentPart, event: EventBody, moment: Moment): AgentPart {
  const [answer] = applyToAnswer(agent.answer, event, moment);
  switch (event.type) {
    case 'approval_needed':
      return { ...agent, answer, state: 'waiting' };
    // The end of any call: a person decided, or the gateway continued without one.
    case 'approval_decided':
    case 'tool_result':
      return { ...agent, answer, state: 'running' };
    case 'subagent_completed':
      return {
        ...agent,
        answer: finishAnswer(answer, moment.now),
        state: event.completedNormally ? 'done' : 'failed',
      };
    default:
      return { ...agent, answer };
  }
}

/** The answer with a note of the gateway. */
export function withNote(answer: Answer, text: string, id = `note ${answer.parts.length}`): Answer {
  return withPart(answer, { kind: 'note', id, text });
}

/** The answer without the note with this id. */
export function withoutNote(answer: Answer, id: string): Answer {
  return without(answer, (part) => part.kind === 'note' && part.id === id);
}

/** The answer with its stored text, which replaces that of the events where the two differ. */
export function withStoredText(answer: Answer, content: string, isError: boolean): Answer {
  const text = textOf(answer);
  // The end of the answer may have no events: it is the gateway's own closing text.
  const isEnd = text !== '' && text !== content && content.startsWith(text);
  const whole =
    text === content
      ? answer
      : isEnd
        ? append(answer, 'end', content.slice(text.length))
        : append(
            without(answer, ({ kind }) => kind === 'text'),
            'stored',
            content,
          );
  const result = endTexts(whole);
  // The error is the last text; the texts before it are still an answer.
  const last = result.parts.findLastIndex(({ kind }) => kind === 'text');
  const part = result.parts[last];
  const parts =
    part?.kind === 'text' && part.isError !== isError
      ? result.parts.with(last, { ...part, isError })
      : result.parts;
  return parts === answer.parts && answer.isStored ? answer : { ...result, parts, isStored: true };
}

/** The answer without activity: its texts, thinking and tool calls have ended. */
export function finishAnswer(answer: Answer, now: number): Answer {
  const result = endTexts(answer);
  const parts = result.parts.map((part) => {
    if (part.kind === 'thinking' && part.isRunning) return thought(part, now);
    return part.kind === 'tool' && isRunning(part) ? { ...part, state: 'unfinished' as const } : part;
  });
  return parts.every((part, index) => part === answer.parts[index]) ? answer : { ...result, parts };
}

function endTexts(answer: Answer): Answer {
  if (!answer.parts.some((part) => part.kind === 'text' && part.isGrowing)) return answer;
  const parts = answer.parts.map((part) =>
    part.kind === 'text' && part.isGrowing ? { ...part, isGrowing: false } : part,
  );
  return { ...answer, parts };
}

function withPart(answer: Answer, part: Part): Answer {
  return { ...answer, parts: [...answer.parts, part] };
}

function without(answer: Answer, isGone: (part: Part) => boolean): Answer {
  return { ...answer, parts: answer.parts.filter((part) => !isGone(part)) };
}

/** Changes a part; where there is none, `fresh` is added first, if it is given. */
function change<Kind extends Part['kind']>(
  answer: Answer,
  kind: Kind,
  id: string,
  fresh: PartOf<Kind> | undefined,
  update: (part: PartOf<Kind>) => PartOf<Kind>,
): Answer {
  const isIt = (part: Part): part is PartOf<Kind> => part.kind === kind && part.id === id;
  const index = answer.parts.findLastIndex(isIt);
  const part = answer.parts[index];
  if (part === undefined || !isIt(part))
    return fresh === undefined ? answer : withPart(answer, update(fresh));
  const next = update(part);
  return next === part ? answer : { ...answer, parts: answer.parts.with(index, next) };
}
