/** Calls to the gateway, with the token in the header and errors that a person can read. */

/** @typedef {{ key: string, profileId: string, model: string | null, mode: string, updatedAt: string, messageCount: number }} Session */
/** @typedef {{ seq: number, role: 'user' | 'assistant' | 'system', content: string, turnId: string, createdAt: string, senderName: string | null, isPlan: boolean, isError: boolean }} Message */
/** @typedef {{ ready: boolean, demo: boolean, version: string, model: { state: 'up' | 'down', detail?: string }, channels: Record<string, { label: string }> }} Health */

/** The gateway refused, or could not be reached (`status` 0). */
export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {string} code
   * @param {string} message
   */
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** The gateway's API for one token; every method throws `ApiError`. */
export class Api {
  #token;

  /** @param {string} token */
  constructor(token) {
    this.#token = token;
  }

  /**
   * @param {number} limit
   * @returns {Promise<Session[]>}
   */
  async sessions(limit) {
    return (await this.#json('GET', `/v1/sessions?limit=${limit}`)).sessions;
  }

  /**
   * @param {string} key
   * @param {{ limit: number, before?: number }} page
   * @returns {Promise<Message[]>}
   */
  async messages(key, { limit, before }) {
    const query = before === undefined ? '' : `&before=${before}`;
    return (await this.#json('GET', `${pathOf(key)}/messages?limit=${limit}${query}`)).messages;
  }

  /**
   * AvailableExecutors a message in; the same `idempotencyKey` again is answered like the first time.
   * @param {string} key
   * @param {{ content: string, model?: string }} body
   * @param {string} idempotencyKey
   * @returns {Promise<{ turnId?: string, seq?: number, handled?: boolean, reply?: string | null }>}
   */
  post(key, body, idempotencyKey) {
    return this.#json('POST', `${pathOf(key)}/messages`, body, { 'idempotency-key': idempotencyKey });
  }

  /**
   * @param {string} key
   * @returns {Promise<{ stopped: boolean, cancelled: number }>}
   */
  stop(key) {
    return this.#json('POST', `${pathOf(key)}/stop`);
  }

  /**
   * @param {string} key
   * @returns {Promise<Session>}
   */
  session(key) {
    return this.#json('GET', pathOf(key));
  }

  /**
   * @param {string} key
   * @param {string} mode
   */
  setMode(key, mode) {
    return this.#json('PATCH', pathOf(key), { mode });
  }

  /**
   * The newest plan of a session, the turn it belongs to, and the list of things to do, as they stand.
   * @param {string} key
   * @returns {Promise<{ plan: import('./plan/plan-state.js').Plan | null, turnId: string | null, todos: import('./plan/todo-view.js').Todo[] }>}
   */
  plan(key) {
    return this.#json('GET', `${pathOf(key)}/plan`);
  }

  /**
   * What waits for an answer, in all sessions this token may decide for.
   * @returns {Promise<import('./chat/approval-cards.js').Approval[]>}
   */
  async approvals() {
    return (await this.#json('GET', '/v1/approvals')).approvals;
  }

  /**
   * @param {string} id
   * @param {'approved' | 'denied'} decision
   */
  decide(id, decision) {
    return this.#json('POST', `/v1/approvals/${encodeURIComponent(id)}`, { decision });
  }

  /**
   * Lets a step run or leaves it out, pauses, resumes or stops a plan; gives a sentence about what comes of it.
   * @param {string} planId
   * @param {import('./plan/plan-buttons.js').PlanAction} action
   * @param {string | undefined} stepId the step that the person saw
   * @returns {Promise<{ text: string }>}
   */
  actOnPlan(planId, action, stepId) {
    const step = stepId === undefined ? '' : `?step=${encodeURIComponent(stepId)}`;
    return this.#json('POST', `/v1/plans/${encodeURIComponent(planId)}/${action}${step}`);
  }

  /** @param {string} key */
  forget(key) {
    return this.#json('DELETE', pathOf(key));
  }

  /** @returns {Promise<import('./chat/command-menu.js').Command[]>} */
  async commands() {
    return (await this.#json('GET', '/v1/commands')).commands;
  }

  /** @returns {Promise<import('./schedules.js').Schedule[]>} */
  async schedules() {
    return (await this.#json('GET', '/v1/schedules')).schedules;
  }

  /** @param {string} id */
  removeSchedule(id) {
    return this.#json('DELETE', `/v1/schedules/${encodeURIComponent(id)}`);
  }

  /** @returns {Promise<string[]>} */
  async models() {
    const list = await this.#json('GET', '/v1/models');
    return list.data.map((/** @type {{ id: string }} */ model) => model.id);
  }

  /**
   * The stream of a session's events. Not an EventSource: that could carry the token only in the address.
   * @param {string} key
   * @param {string | undefined} lastEventId
   * @param {AbortSignal} signal
   */
  async events(key, lastEventId, signal) {
    /** @type {Record<string, string>} */
    const resume = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
    const response = await this.#send('GET', `${pathOf(key)}/events`, undefined, resume, signal);
    if (response.body === null) throw new ApiError(0, 'unreachable', 'The stream has no body.');
    return response.body;
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   * @param {Record<string, string>} [headers]
   */
  async #json(method, path, body, headers) {
    const response = await this.#send(method, path, body, headers);
    return response.json();
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   * @param {Record<string, string>} [headers]
   * @param {AbortSignal} [signal]
   */
  async #send(method, path, body, headers = {}, signal) {
    const all = { authorization: `Bearer ${this.#token}`, 'content-type': 'application/json', ...headers };
    /** @type {RequestInit} */
    const init = { method, headers: all, cache: 'no-store' };
    if (signal !== undefined) init.signal = signal;
    if (body !== undefined) init.body = JSON.stringify(body);
    const response = await reach(path, init);
    if (response.ok) return response;
    const error = await response.json().then(
      (answer) => answer.error,
      () => undefined,
    );
    throw new ApiError(
      response.status,
      error?.code ?? 'unknown',
      error?.message ?? `The gateway answered ${response.status}.`,
    );
  }
}

/**
 * How the gateway is doing; needs no token.
 * @returns {Promise<Health>}
 */
export async function readHealth() {
  const response = await reach('/readyz', { cache: 'no-store' });
  return response.json();
}

/**
 * @param {string} path
 * @param {RequestInit} init
 */
async function reach(path, init) {
  try {
    return await fetch(path, init);
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ApiError(0, 'unreachable', 'The gateway cannot be reached.');
  }
}

/** @param {string} key */
function pathOf(key) {
  return `/v1/sessions/${encodeURIComponent(key)}`;
}
