/** Calls of the gateway's API, with the token in the header and errors that people can read. */
import { ConversationCalls } from './conversation-calls.js';
import { ApiError, errorOf, pathOf, Requests } from './requests.js';

export { ApiError };

/** @typedef {import('../wire.ts').WireListed} Session */
/** @typedef {import('../wire.ts').WireSession} SessionSettings */
/** @typedef {import('../wire.ts').WireFound} FoundSession */
/** @typedef {import('../../../src/protocol/sessions/session-list.ts').SessionChange} SessionChange */
/** @typedef {{ profileId?: string, model?: string, mode?: string }} Beginning What a new chat begins with. */
/** @typedef {import('../wire.ts').WireMessage} Message */
/** @typedef {import('../wire.ts').WireReset} Reset */
/** @typedef {import('../wire.ts').WireApproval} Approval */
/** @typedef {import('../wire.ts').WireSchedule} Schedule */
/** @typedef {import('../wire.ts').WireWork} Work */
/** @typedef {import('../routes/messages.ts').PostedAnswer} Receipt */
/** @typedef {import('../wire.ts').WireFile} StoredFile */
/** @typedef {import('../../../src/protocol/sessions/turn-work.ts').TurnWork} TurnWork */
/** @typedef {import('../../../src/protocol/command.ts').CommandListing} CommandListing */
/** @typedef {import('../../../src/protocol/file-api.ts').FileLimits} FileLimits */
/** @typedef {import('../../../src/protocol/gateway-api.ts').HealthReport} HealthReport */
/** @typedef {import('../../../src/protocol/store/lanes.ts').StopResult} StopResult */
/** @typedef {import('../../../src/protocol/agent/plan-store.ts').PlanAction} PlanAction */
/** @typedef {import('../../../src/protocol/store/records.ts').ApprovalDecision} ApprovalDecision */

/**
 * @param {string} key
 * @param {{ limit: number, before?: number }} page
 */
function messagesPath(key, { limit, before }) {
  const query = before === undefined ? '' : `&before=${before}`;
  return `${pathOf(key)}/messages?limit=${limit}${query}`;
}

/** The gateway's API for one token; every method throws `ApiError`. */
export class Api {
  #requests;
  /** What people do with a conversation besides talking in it. */
  conversations;

  /** @param {string | undefined} token undefined = the cookie of a sign-in */
  constructor(token) {
    this.#requests = new Requests(token);
    this.conversations = new ConversationCalls(this.#requests);
  }

  /**
   * The gateway's health report; only an admin's has the version and what is wrong.
   * @returns {Promise<Pick<HealthReport, 'model' | 'channels' | 'demo'> & Partial<HealthReport>>}
   */
  async health() {
    const response = await this.#requests.reach('/readyz');
    // 503 has the report, too.
    if (!response.ok && response.status !== 503) throw await errorOf(response);
    return response.json();
  }

  /**
   * @param {{ limit: number, archived?: boolean, before?: string | undefined }} page
   * @returns {Promise<Session[]>}
   */
  async sessions({ limit, archived = false, before }) {
    const older = before === undefined ? '' : `&before=${encodeURIComponent(before)}`;
    /** @type {{ sessions: Session[] }} */
    const { sessions } = await this.#requests.json(
      'GET',
      `/v1/sessions?limit=${limit}&archived=${archived}${older}`,
    );
    return sessions;
  }

  /**
   * @param {string} text
   * @param {number} limit
   * @returns {Promise<{ found: FoundSession[], more: boolean }>}
   */
  search(text, limit) {
    return this.#requests.json('GET', `/v1/search?limit=${limit}&q=${encodeURIComponent(text)}`);
  }

  /**
   * @param {string} key
   * @param {{ limit: number, before?: number }} page
   * @returns {Promise<{ messages: Message[], resets: Reset[] }>}
   */
  messages(key, page) {
    return this.#requests.json('GET', messagesPath(key, page));
  }

  /**
   * Messages with the work of their turns.
   * @param {string} key
   * @param {{ limit: number, before?: number }} page
   * @returns {Promise<{ messages: Message[], resets: Reset[], steps: TurnWork[] }>}
   */
  messagesWithWork(key, page) {
    return this.#requests.json('GET', `${messagesPath(key, page)}&include=steps`);
  }

  /**
   * Posts a message; a repeat with the same `idempotencyKey` gets the same answer.
   * @param {string} key
   * @param {{ content: string, session?: Beginning, files?: string[] }} body
   * @param {string} idempotencyKey
   * @returns {Promise<Receipt>}
   */
  postMessage(key, body, idempotencyKey) {
    return this.#requests.json('POST', `${pathOf(key)}/messages`, body, {
      'idempotency-key': idempotencyKey,
    });
  }

  /** @returns {Promise<FileLimits>} */
  fileLimits() {
    return this.#requests.json('GET', '/v1/file-limits');
  }

  /**
   * Sends a file, which the next message may name.
   * @param {string} key
   * @param {File} file
   * @param {{ signal: AbortSignal, progress: (part: number) => void }} options `progress` gets the part that was sent, 0 to 1
   * @returns {Promise<StoredFile>}
   */
  upload(key, file, options) {
    const path = `${pathOf(key)}/files?name=${encodeURIComponent(file.name)}`;
    return this.#requests.sendFile(path, file, options);
  }

  /**
   * The bytes of a file of the session.
   * @param {string} key
   * @param {string} file
   */
  async file(key, file) {
    const response = await this.#requests.send('GET', `${pathOf(key)}/files/${encodeURIComponent(file)}`);
    return response.blob();
  }

  /**
   * @param {string} key
   * @param {string} file
   * @returns {Promise<{ file: string, deleted: boolean }>}
   */
  removeFile(key, file) {
    return this.#requests.json('DELETE', `${pathOf(key)}/files/${encodeURIComponent(file)}`);
  }

  /**
   * @param {string} key
   * @returns {Promise<StopResult>}
   */
  stopSession(key) {
    return this.#requests.json('POST', `${pathOf(key)}/stop`);
  }

  /**
   * @param {string} key
   * @returns {Promise<SessionSettings>}
   */
  session(key) {
    return this.#requests.json('GET', pathOf(key));
  }

  /**
   * @param {string} key
   * @param {SessionChange} change
   * @returns {Promise<SessionSettings>}
   */
  changeSession(key, change) {
    return this.#requests.json('PATCH', pathOf(key), change);
  }

  /**
   * The newest plan of a session, the turn it belongs to, and the todo list.
   * @param {string} key
   * @returns {Promise<Work>}
   */
  plan(key) {
    return this.#requests.json('GET', `${pathOf(key)}/plan`);
  }

  /**
   * The pending approvals of all sessions of this token, and whether it may decide them.
   * @returns {Promise<{ approvals: Approval[], mayDecide: boolean }>}
   */
  approvals() {
    return this.#requests.json('GET', '/v1/approvals');
  }

  /**
   * @param {string} id
   * @param {ApprovalDecision} decision
   * @param {{ reason?: string, always?: boolean }} [detail] the reason of a denial, or that an approval holds permanently
   * @returns {Promise<{ id: string, decision: ApprovalDecision, rule?: string }>}
   */
  decideApproval(id, decision, detail = {}) {
    return this.#requests.json('POST', `/v1/approvals/${encodeURIComponent(id)}`, { decision, ...detail });
  }

  /**
   * Runs or skips a step, pauses, resumes or stops a plan; returns a sentence about the outcome.
   * @param {string} planId
   * @param {PlanAction} action
   * @param {string | undefined} stepId the step that was shown when the button was pressed
   * @returns {Promise<{ text: string }>}
   */
  actOnPlan(planId, action, stepId) {
    const step = stepId === undefined ? '' : `?step=${encodeURIComponent(stepId)}`;
    return this.#requests.json('POST', `/v1/plans/${encodeURIComponent(planId)}/${action}${step}`);
  }

  /**
   * Starts a run of a plan.
   * @param {string} planId
   * @param {{ mode: string, version?: number }} request
   * @returns {Promise<unknown>}
   */
  runPlan(planId, request) {
    return this.#requests.json('POST', `/v1/plans/${encodeURIComponent(planId)}/run`, request);
  }

  /**
   * Changes steps of a plan that have not begun; throws when its version is not this one.
   * @param {string} planId
   * @param {number} version
   * @param {import('../../../src/protocol/agent/plan.ts').StepEdit[]} edits
   * @returns {Promise<{ plan: import('../../../src/protocol/agent/plan.ts').Plan }>}
   */
  changePlan(planId, version, edits) {
    return this.#requests.json('PATCH', `/v1/plans/${encodeURIComponent(planId)}`, { version, edits });
  }

  /**
   * @param {string[]} keys at most 100
   * @returns {Promise<{ deleted: string[] }>}
   */
  deleteSessions(keys) {
    return this.#requests.json('POST', '/v1/sessions/delete', { keys });
  }

  /** @returns {Promise<CommandListing[]>} */
  async commands() {
    /** @type {{ commands: CommandListing[] }} */
    const { commands } = await this.#requests.json('GET', '/v1/commands');
    return commands;
  }

  /** @returns {Promise<Schedule[]>} */
  async schedules() {
    /** @type {{ schedules: Schedule[] }} */
    const { schedules } = await this.#requests.json('GET', '/v1/schedules');
    return schedules;
  }

  /** @type {(id: string) => Promise<{ id: string, deleted: boolean }>} */
  removeSchedule = (id) => this.#requests.json('DELETE', `/v1/schedules/${encodeURIComponent(id)}`);

  /** Any other route. @type {<Answer>(method: string, path: string, body?: unknown) => Promise<Answer>} */
  ask = (method, path, body) => this.#requests.json(method, path, body);

  /**
   * The stream of a session's events. Not an EventSource, which could send the token only in the address.
   * @param {string} key
   * @param {string | undefined} lastEventId
   * @param {AbortSignal} signal
   */
  openEvents(key, lastEventId, signal) {
    return this.#requests.stream(
      `${pathOf(key)}/events`,
      lastEventId === undefined ? {} : { 'last-event-id': lastEventId },
      signal,
    );
  }

  /**
   * The stream of what happens in all sessions, without texts.
   * @param {AbortSignal} signal
   */
  openListEvents(signal) {
    return this.#requests.stream('/v1/events', {}, signal);
  }

  /** A name for this token, by which tabs with the same token find each other. */
  tokenDigest() {
    return this.#requests.tokenDigest();
  }
}
