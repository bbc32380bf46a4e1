/** Calls of the gateway's API, with the token in the header and errors that people can read. */
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
import { ConversationCalls } from './conversation-calls.ts';
import { ApiError, errorOf, pathOf, Requests } from './requests.ts';

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

export type Beginning = { profileId?: string; model?: string; mode?: string };

function messagesPath(key: string, { limit, before }: { limit: number; before?: number }) {
  const query = before === undefined ? '' : `&before=${before}`;
  return `${pathOf(key)}/messages?limit=${limit}${query}`;
}

/** The gateway's API for one token; every method throws `ApiError`. */
export class Api {
  #requests;
  /** What people do with a conversation besides talking in it. */
  conversations;

  /** @param token undefined = the cookie of a sign-in */
  constructor(token: string | undefined) {
    this.#requests = new Requests(token);
    this.conversations = new ConversationCalls(this.#requests);
  }

  /** The gateway's health report; only an admin's has the version and what is wrong. */
  async health(): Promise<Pick<HealthReport, 'model' | 'channels' | 'demo'> & Partial<HealthReport>> {
    const response = await this.#requests.reach('/readyz');
    // 503 has the report, too.
    if (!response.ok && response.status !== 503) throw await errorOf(response);
    return response.json();
  }

  async sessions({
    limit,
    archived = false,
    before,
  }: {
    limit: number;
    archived?: boolean;
    before?: string | undefined;
  }): Promise<Session[]> {
    const older = before === undefined ? '' : `&before=${encodeURIComponent(before)}`;
    const { sessions }: { sessions: Session[] } = await this.#requests.json(
      'GET',
      `/v1/sessions?limit=${limit}&archived=${archived}${older}`,
    );
    return sessions;
  }

  search(text: string, limit: number): Promise<{ found: FoundSession[]; more: boolean }> {
    return this.#requests.json('GET', `/v1/search?limit=${limit}&q=${encodeURIComponent(text)}`);
  }

  messages(
    key: string,
    page: { limit: number; before?: number },
  ): Promise<{ messages: Message[]; resets: Reset[] }> {
    return this.#requests.json('GET', messagesPath(key, page));
  }

  /** Messages with the work of their turns. */
  messagesWithWork(
    key: string,
    page: { limit: number; before?: number },
  ): Promise<{ messages: Message[]; resets: Reset[]; steps: TurnWork[] }> {
    return this.#requests.json('GET', `${messagesPath(key, page)}&include=steps`);
  }

  /** Posts a message; a repeat with the same `idempotencyKey` gets the same answer. */
  postMessage(
    key: string,
    body: { content: string; session?: Beginning; files?: string[] },
    idempotencyKey: string,
  ): Promise<Receipt> {
    return this.#requests.json('POST', `${pathOf(key)}/messages`, body, {
      'idempotency-key': idempotencyKey,
    });
  }

  fileLimits(): Promise<FileLimits> {
    return this.#requests.json('GET', '/v1/file-limits');
  }

  /**
   * Sends a file, which the next message may name.
   * @param options `progress` gets the part that was sent, 0 to 1
   */
  upload(
    key: string,
    file: File,
    options: { signal: AbortSignal; progress: (part: number) => void },
  ): Promise<StoredFile> {
    const path = `${pathOf(key)}/files?name=${encodeURIComponent(file.name)}`;
    return this.#requests.sendFile(path, file, options);
  }

  /** The bytes of a file of the session. */
  async file(key: string, file: string) {
    const response = await this.#requests.send('GET', `${pathOf(key)}/files/${encodeURIComponent(file)}`);
    return response.blob();
  }

  /** What is said in a recording. */
  async transcribe(recording: Blob): Promise<string> {
    const form = new FormData();
    form.set('file', recording, 'recording');
    const { text } = await this.#requests.form<{ text: string }>('/v1/audio/transcriptions', form);
    return text;
  }

  removeFile(key: string, file: string): Promise<{ file: string; deleted: boolean }> {
    return this.#requests.json('DELETE', `${pathOf(key)}/files/${encodeURIComponent(file)}`);
  }

  stopSession(key: string): Promise<StopResult> {
    return this.#requests.json('POST', `${pathOf(key)}/stop`);
  }

  session(key: string): Promise<SessionSettings> {
    return this.#requests.json('GET', pathOf(key));
  }

  changeSession(key: string, change: SessionChange): Promise<SessionSettings> {
    return this.#requests.json('PATCH', pathOf(key), change);
  }

  /** The newest plan of a session, the turn it belongs to, and the todo list. */
  plan(key: string): Promise<Work> {
    return this.#requests.json('GET', `${pathOf(key)}/plan`);
  }

  /** The pending approvals of all sessions of this token, and whether it may decide them. */
  approvals(): Promise<{ approvals: Approval[]; mayDecide: boolean }> {
    return this.#requests.json('GET', '/v1/approvals');
  }

  /** @param detail the reason of a denial; that an approval holds permanently, or with which arguments */
  decideApproval(
    id: string,
    decision: ApprovalDecision,
    detail: { reason?: string; always?: boolean; args?: Record<string, unknown> } = {},
  ): Promise<{ id: string; decision: ApprovalDecision; rule?: string }> {
    return this.#requests.json('POST', `/v1/approvals/${encodeURIComponent(id)}`, { decision, ...detail });
  }

  /** Answers a question of another person, or refuses it. */
  answerQuestion(
    id: string,
    body: { answer: string } | { refuse: true; never?: boolean },
  ): Promise<{ id: string; answered: boolean }> {
    return this.#requests.json('POST', `/v1/questions/${encodeURIComponent(id)}`, body);
  }

  /**
   * Runs or skips a step, pauses, resumes or stops a plan; returns a sentence about the outcome.
   * @param stepId the step that was shown when the button was pressed
   */
  actOnPlan(planId: string, action: PlanAction, stepId: string | undefined): Promise<{ text: string }> {
    const step = stepId === undefined ? '' : `?step=${encodeURIComponent(stepId)}`;
    return this.#requests.json('POST', `/v1/plans/${encodeURIComponent(planId)}/${action}${step}`);
  }

  /** Starts a run of a plan. */
  runPlan(planId: string, request: { mode: string; version?: number }): Promise<unknown> {
    return this.#requests.json('POST', `/v1/plans/${encodeURIComponent(planId)}/run`, request);
  }

  /** Changes steps of a plan that have not begun; throws when its version is not this one. */
  changePlan(planId: string, version: number, edits: StepEdit[]): Promise<{ plan: Plan }> {
    return this.#requests.json('PATCH', `/v1/plans/${encodeURIComponent(planId)}`, { version, edits });
  }

  /** Takes back that a stored plan was discarded. */
  restorePlan(planId: string): Promise<unknown> {
    return this.#requests.json('POST', `/v1/plans/${encodeURIComponent(planId)}/restore`);
  }

  /** @param keys at most 100 */
  deleteSessions(keys: string[]): Promise<{ deleted: string[] }> {
    return this.#requests.json('POST', '/v1/sessions/delete', { keys });
  }

  async commands(): Promise<CommandListing[]> {
    const { commands }: { commands: CommandListing[] } = await this.#requests.json('GET', '/v1/commands');
    return commands;
  }

  async schedules(): Promise<Schedule[]> {
    const { schedules }: { schedules: Schedule[] } = await this.#requests.json('GET', '/v1/schedules');
    return schedules;
  }

  removeSchedule: (id: string) => Promise<{ id: string; deleted: boolean }> = (id) =>
    this.#requests.json('DELETE', `/v1/schedules/${encodeURIComponent(id)}`);

  /** Any other route. */
  ask: <Answer>(method: string, path: string, body?: unknown) => Promise<Answer> = (method, path, body) =>
    this.#requests.json(method, path, body);

  /** The stream of a session's events. Not an EventSource, which could send the token only in the address. */
  openEvents(key: string, lastEventId: string | undefined, signal: AbortSignal) {
    return this.#requests.stream(
      `${pathOf(key)}/events`,
      lastEventId === undefined ? {} : { 'last-event-id': lastEventId },
      signal,
    );
  }

  /** The stream of what happens in all sessions, without texts. */
  openListEvents(signal: AbortSignal) {
    return this.#requests.stream('/v1/events', {}, signal);
  }

  /** A name for this token, by which tabs with the same token find each other. */
  tokenDigest() {
    return this.#requests.tokenDigest();
  }
}
