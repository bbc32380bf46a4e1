/** Turns as tasks of the Agent2Agent protocol: a task has the id of its turn, and nothing of it is stored besides. */
import { type Caller, hasScope } from '../../../src/protocol/access.ts';
import { type ApprovalRecord, MAX_LISTED_APPROVALS } from '../../../src/protocol/agent/approvals.ts';
import type { SessionKey } from '../../../src/protocol/message.ts';
import type { TurnStatus } from '../../../src/protocol/sessions/session-list.ts';
import { HttpError } from '../errors.ts';
import type { HandlerDeps } from '../route.ts';
import type { TurnFeed } from '../turn-feed.ts';

/** What the protocol calls states; those in which a task has ended. */
type TaskState =
  | 'TASK_STATE_SUBMITTED'
  | 'TASK_STATE_WORKING'
  | 'TASK_STATE_INPUT_REQUIRED'
  | 'TASK_STATE_COMPLETED'
  | 'TASK_STATE_CANCELED'
  | 'TASK_STATE_FAILED';

/** A turn of a session, and whether it may have begun long ago. */
export interface TaskTurn {
  turnId: string;
  session: SessionKey;
  replay: boolean;
}

/** A piece of an answer. */
interface Part {
  text?: string;
  url?: string;
  filename?: string;
  mediaType?: string;
}

interface AgentReply {
  messageId: string;
  contextId: string;
  taskId: string;
  role: 'ROLE_AGENT';
  parts: Part[];
}

export interface Artifact {
  artifactId: string;
  name: string;
  parts: Part[];
}

export interface TaskStatus {
  state: TaskState;
  timestamp: string;
  message?: AgentReply;
}

export interface Task {
  id: string;
  contextId: string;
  status: TaskStatus;
  artifacts: Artifact[];
}

const ENDED: ReadonlySet<TaskState> = new Set([
  'TASK_STATE_COMPLETED',
  'TASK_STATE_CANCELED',
  'TASK_STATE_FAILED',
]);

/** True for a task to which nothing more happens. */
export function hasEnded({ status }: Task): boolean {
  return ENDED.has(status.state);
}

/** The part of a session's key by which other agents name it. */
export function contextOf(session: SessionKey): string {
  return session.slice('http:'.length);
}

/** The turn of a task. Throws `HttpError` 404 for one that the caller may not see, or of another kind of chat. */
export async function turnOfTask(deps: HandlerDeps, caller: Caller, id: string): Promise<TaskTurn> {
  const turn = await deps.gateway.trace(caller, id);
  if (turn === undefined || !turn.session.startsWith('http:'))
    throw new HttpError(404, 'task_not_found', `There is no task "${id}".`);
  return { turnId: id, session: turn.session, replay: true };
}

/** What of a turn waits for a decision that the caller may make. */
export async function approvalOf(
  { gateway }: HandlerDeps,
  caller: Caller,
  turnId: string,
): Promise<ApprovalRecord | undefined> {
  if (!hasScope(caller, 'approve')) return undefined;
  const waiting = await gateway.approvals(caller, { limit: MAX_LISTED_APPROVALS });
  return waiting.find((approval) => approval.turnId === turnId && approval.question === undefined);
}

/** The task as it is now. `origin` is where the caller finds files. Throws `HttpError` 404. */
export async function taskOf(
  deps: HandlerDeps,
  caller: Caller,
  { turnId, session }: TaskTurn,
  origin: string,
): Promise<Task> {
  const turn = await deps.gateway.turn(turnId);
  if (turn === undefined) throw new HttpError(404, 'task_not_found', `There is no task "${turnId}".`);
  const approval = turn.state === 'done' ? undefined : await approvalOf(deps, caller, turnId);
  const contextId = contextOf(session);
  const state = approval === undefined ? stateOf(turn) : 'TASK_STATE_INPUT_REQUIRED';
  const text = approval === undefined ? noteOf(turn, state) : questionOf(approval);
  const parts = [{ text }];
  return {
    id: turnId,
    contextId,
    status: {
      state,
      timestamp: (turn.final?.createdAt ?? new Date()).toISOString(),
      ...(text !== '' && {
        message: { messageId: `${turnId}-${state}`, contextId, taskId: turnId, role: 'ROLE_AGENT', parts },
      }),
    },
    artifacts: state === 'TASK_STATE_FAILED' ? [] : artifactsOf(turn, turnId, session, origin),
  };
}

function stateOf({ state, reason }: TurnStatus): TaskState {
  if (state === 'queued') return 'TASK_STATE_SUBMITTED';
  if (state !== 'done') return 'TASK_STATE_WORKING';
  if (reason === 'stopped') return 'TASK_STATE_CANCELED';
  return reason === 'failed' || reason === 'interrupted' || reason === 'filtered'
    ? 'TASK_STATE_FAILED'
    : 'TASK_STATE_COMPLETED';
}

function noteOf({ state, final }: TurnStatus, taskState: TaskState): string {
  if (taskState === 'TASK_STATE_FAILED') return final?.content ?? '';
  return state === 'parked' ? 'Waits for the decision of a person.' : '';
}

function questionOf({ tool, args, warning }: ApprovalRecord): string {
  const about = warning === undefined || warning === '' ? '' : ` (${warning})`;
  return `The call of ${tool}${about} waits for a decision: approve or deny. Its arguments: ${JSON.stringify(args)}`;
}

/** The answer, and its files by the addresses at which the API has them. */
function artifactsOf({ final }: TurnStatus, turnId: string, session: SessionKey, origin: string): Artifact[] {
  if (final === undefined) return [];
  const files = (final.attachments ?? []).map(({ file, name, mimeType }) => {
    const path = file.split('/').map(encodeURIComponent).join('/');
    const url = `${origin}/v1/sessions/${encodeURIComponent(session)}/files/${path}`;
    return { artifactId: file, name, parts: [{ url, filename: name, mediaType: mimeType }] };
  });
  const answer = { artifactId: turnId, name: 'answer', parts: [{ text: final.content }] };
  return final.content === '' ? files : [answer, ...files];
}

/**
 * Passes the text on while it grows, until the turn has ended, waits for a decision of the caller, or the signal aborts. What
 * was passed on need not be the answer: that is read from the store. Never rejects.
 */
export async function followTask(
  deps: HandlerDeps,
  caller: Caller,
  feed: TurnFeed,
  { turnId, session, replay }: TaskTurn,
  text: (delta: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const end = (): void => resolve();
  const endIfAsked = (): void => {
    approvalOf(deps, caller, turnId).then(
      (approval) => {
        if (approval !== undefined) end();
      },
      // The state of the task says what is wrong with the store.
      end,
    );
  };
  const unsubscribe = deps.gateway.subscribe({ sessionKey: session }, (event) => {
    if (event.type === 'approval_needed' && event.turnId === turnId) endIfAsked();
  });
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  const nothing = (): void => undefined;
  feed.follow(
    turnId,
    {
      whole: false,
      text,
      thinking: nothing,
      textWasThinking: nothing,
      toolCall: nothing,
      waiting: nothing,
      finish: end,
      fail: end,
    },
    { replay },
  );
  endIfAsked();
  await promise;
  unsubscribe();
  feed.close();
}
