/** The calls of the gateway's API: each rejects with `ApiError`, whose message people can read. */
import type {
  WireListed as Session,
  WireSession as SessionSettings,
  WireFound as FoundSession,
  WireMessage as Message,
  WireReset as Reset,
  WireApproval as Approval,
  WireSchedule as Schedule,
  WireWork as Work,
  WireFile as StoredFile,
  WireQueue,
  WireFork,
  WireChoices,
  WireSessionModel,
  WireTrace,
  WireUndo,
} from '../wire.ts';
import type { SessionChange } from '../../../src/protocol/sessions/session-list.ts';
import type { PostedAnswer as Receipt } from '../routes/messages.ts';
import type { TurnWork } from '../../../src/protocol/sessions/turn-work.ts';
import type { CommandListing } from '../../../src/protocol/command.ts';
import type { FileLimits } from '../../../src/protocol/file-api.ts';
import type { HealthReport } from '../../../src/protocol/gateway-api.ts';
import type { StopResult } from '../../../src/protocol/store/lanes.ts';
import type { PlanAction } from '../../../src/protocol/agent/plan-store.ts';
import type { ApprovalDecision } from '../../../src/protocol/store/records.ts';
import type { StepEdit, Plan } from '../../../src/protocol/agent/plan.ts';
import { ApiError, ask, errorOf, randomId, reach, send, sendFile, stream } from './requests.ts';

export type {
  Session,
  FoundSession,
  SessionChange,
  Message,
  Reset,
  Approval,
  Schedule,
  StoredFile,
  TurnWork,
  CommandListing,
  FileLimits,
  SessionSettings,
  PlanAction,
  ApprovalDecision,
};

export { ApiError };

/** What was chosen for a chat before its first message. */
export type Beginning = { profileId?: string; model?: string; mode?: string };

interface Page {
  limit: number;
  before?: number;
}

const encode = encodeURIComponent;
const pathOf = (key: string): string => `/v1/sessions/${encode(key)}`;
const waitingPath = (key: string, turnId: string): string => `${pathOf(key)}/queue/${encode(turnId)}`;
const planPath = (id: string): string => `/v1/plans/${encode(id)}`;

function messagesPath(key: string, { limit, before }: Page): string {
  return `${pathOf(key)}/messages?limit=${limit}${before === undefined ? '' : `&before=${before}`}`;
}

export const api = {
  /** Any other route. */
  ask,

  /** The gateway's health report; only an admin's has the version and what is wrong. */
  async health(): Promise<Pick<HealthReport, 'model' | 'channels' | 'demo'> & Partial<HealthReport>> {
    const response = await reach('/readyz');
    // 503 has the report, too.
    if (!response.ok && response.status !== 503) throw await errorOf(response);
    return response.json();
  },

  async sessions(page: {
    limit: number;
    archived?: boolean;
    before?: string | undefined;
  }): Promise<Session[]> {
    const { limit, archived = false, before } = page;
    const older = before === undefined ? '' : `&before=${encode(before)}`;
    const path = `/v1/sessions?limit=${limit}&archived=${archived}${older}`;
    return (await ask<{ sessions: Session[] }>('GET', path)).sessions;
  },
  /** @param keys at most 100 */
  deleteSessions: (keys: string[]) => ask<{ deleted: string[] }>('POST', '/v1/sessions/delete', { keys }),
  search: (text: string, limit: number) =>
    ask<{ found: FoundSession[]; more: boolean }>('GET', `/v1/search?limit=${limit}&q=${encode(text)}`),

  session: (key: string) => ask<SessionSettings>('GET', pathOf(key)),
  changeSession: (key: string, change: SessionChange) => ask<SessionSettings>('PATCH', pathOf(key), change),
  stopSession: (key: string) => ask<StopResult>('POST', `${pathOf(key)}/stop`),
  /** A new session that begins as this one was at a message, or before the question of that message. */
  fork: (key: string, from: { seq: number; before?: boolean }) =>
    ask<WireFork>('POST', `${pathOf(key)}/fork`, from, { 'idempotency-key': randomId() }),
  /** All messages of the session as one file. */
  export: async (key: string, format: 'md' | 'json') =>
    (await send(`${pathOf(key)}/export?format=${format}`)).blob(),
  /** Who answers the next message. */
  model: (key: string) => ask<WireSessionModel>('GET', `${pathOf(key)}/model`),
  /** What can be chosen for a chat with this profile. */
  choices: (profile: string) => ask<WireChoices>('GET', `/v1/choices?profile=${encode(profile)}`),

  messages: (key: string, page: Page) =>
    ask<{ messages: Message[]; resets: Reset[] }>('GET', messagesPath(key, page)),
  /** Messages with the work of their turns. */
  messagesWithWork: (key: string, page: Page) =>
    ask<{ messages: Message[]; resets: Reset[]; steps: TurnWork[] }>(
      'GET',
      `${messagesPath(key, page)}&include=steps`,
    ),
  /** Posts a message; a repeat with the same `idempotencyKey` gets the same answer. */
  postMessage: (
    key: string,
    body: { content: string; session?: Beginning; files?: string[] },
    idempotencyKey: string,
  ) => ask<Receipt>('POST', `${pathOf(key)}/messages`, body, { 'idempotency-key': idempotencyKey }),
  /** Asks the last question again, in other words if `content` is given. */
  again: (key: string, content?: string) =>
    ask<{ turnId: string; note?: string }>(
      'POST',
      `${pathOf(key)}/retry`,
      content === undefined ? {} : { content },
      { 'idempotency-key': randomId() },
    ),
  /** Lets the model read the answer of this turn instead of the others to its question. */
  choose: (key: string, turnId: string) => ask('POST', `${pathOf(key)}/turns/${encode(turnId)}/choose`),
  /** What an undo of this turn would bring back; and the undo. */
  previewUndo: (key: string, turnId: string) =>
    ask<WireUndo>('GET', `${pathOf(key)}/undo?turn=${encode(turnId)}`),
  undo: (key: string, turnId: string) => ask<WireUndo>('POST', `${pathOf(key)}/undo?turn=${encode(turnId)}`),
  /** What became of a turn; with `prompt`, also what the model was sent. */
  trace: (turnId: string, { prompt = false }: { prompt?: boolean } = {}) =>
    ask<WireTrace>('GET', `/v1/turns/${encode(turnId)}/trace${prompt ? '?include=prompt' : ''}`),

  /** What waits behind the running answer. */
  queue: (key: string) => ask<WireQueue>('GET', `${pathOf(key)}/queue`),
  editWaiting: (key: string, turnId: string, content: string) =>
    ask<WireQueue>('PATCH', waitingPath(key, turnId), { content }),
  dropWaiting: (key: string, turnId: string) => ask<WireQueue>('DELETE', waitingPath(key, turnId)),
  /** Ends the running answer, and answers this message next. */
  sendNow: (key: string, turnId: string) => ask<WireQueue>('POST', `${waitingPath(key, turnId)}/send-now`),

  fileLimits: () => ask<FileLimits>('GET', '/v1/file-limits'),
  /** The files of the session, newest first. */
  files: (key: string) =>
    ask<{ files: { file: string; name: string; bytes: number; changedAt: string }[]; more: boolean }>(
      'GET',
      `${pathOf(key)}/files`,
    ),
  /** The bytes of a file of the session. */
  file: async (key: string, file: string) => (await send(`${pathOf(key)}/files/${encode(file)}`)).blob(),
  /** Sends a file, which the next message may name. */
  upload: (key: string, file: File, options: Parameters<typeof sendFile>[2]) =>
    sendFile<StoredFile>(`${pathOf(key)}/files?name=${encode(file.name)}`, file, options),
  removeFile: (key: string, file: string) => ask('DELETE', `${pathOf(key)}/files/${encode(file)}`),
  /** What is said in a recording. */
  async transcribe(recording: Blob): Promise<string> {
    const body = new FormData();
    body.set('file', recording, 'recording');
    const { text } = await (await send('/v1/audio/transcriptions', { method: 'POST', body })).json();
    return text;
  },

  /** The pending approvals of all sessions of this token, and whether it may decide them. */
  approvals: () => ask<{ approvals: Approval[]; mayDecide: boolean }>('GET', '/v1/approvals'),
  /** @param detail the reason of a denial; that an approval holds permanently, or with which arguments */
  decideApproval: (
    id: string,
    decision: ApprovalDecision,
    detail: { reason?: string; always?: boolean; args?: Record<string, unknown> },
  ) => ask<{ rule?: string }>('POST', `/v1/approvals/${encode(id)}`, { decision, ...detail }),
  /** Answers a question of another person, or refuses it. */
  answerQuestion: (id: string, body: { answer: string } | { refuse: true; never?: boolean }) =>
    ask('POST', `/v1/questions/${encode(id)}`, body),

  /** The newest plan of a session, the turn it belongs to, and the todo list. */
  plan: (key: string) => ask<Work>('GET', `${pathOf(key)}/plan`),
  /**
   * Runs or skips a step, pauses, resumes or stops a plan; gives a sentence about the outcome.
   * @param stepId the step that was shown when the button was pressed
   */
  actOnPlan: (id: string, action: PlanAction, stepId: string | undefined) =>
    ask<{ text: string }>(
      'POST',
      `${planPath(id)}/${action}${stepId === undefined ? '' : `?step=${encode(stepId)}`}`,
    ),
  runPlan: (id: string, request: { mode: string; version?: number }) =>
    ask('POST', `${planPath(id)}/run`, request),
  /** Changes steps of a plan that have not begun; it is refused when the plan's version is not this one. */
  changePlan: (id: string, version: number, edits: StepEdit[]) =>
    ask<{ plan: Plan }>('PATCH', planPath(id), { version, edits }),
  /** Takes back that a stored plan was discarded. */
  restorePlan: (id: string) => ask('POST', `${planPath(id)}/restore`),

  commands: async () => (await ask<{ commands: CommandListing[] }>('GET', '/v1/commands')).commands,
  schedules: async () => (await ask<{ schedules: Schedule[] }>('GET', '/v1/schedules')).schedules,
  removeSchedule: (id: string) => ask('DELETE', `/v1/schedules/${encode(id)}`),

  /** What happens in a session, after the event with this id. */
  openEvents: (key: string, lastEventId: string | undefined, signal: AbortSignal) =>
    stream(`${pathOf(key)}/events`, {
      signal,
      headers: lastEventId === undefined ? {} : { 'last-event-id': lastEventId },
    }),
  /** What happens in all sessions, without texts. */
  openListEvents: (signal: AbortSignal) => stream('/v1/events', { signal }),
};
