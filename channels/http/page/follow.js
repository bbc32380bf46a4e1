/** Follows streams of events across reconnects, those of the open session without losing or repeating any. */
import { ApiError } from './api.js';
import { say } from './texts.js';

/** @typedef {import('../../../src/protocol/event.ts').AgentEvent} AgentEvent */

/** The server pings every 15 s: after three missed pings the connection is considered lost. */
const SILENCE_MS = 45_000;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10_000;

/**
 * @typedef {object} FollowHandlers
 * @property {(event: AgentEvent) => void} event
 * @property {() => void} open The connection is open (again): the stored messages may be newer than those shown.
 * @property {(error: ApiError) => void} lost The connection was lost; the next attempt follows.
 * @property {(error: ApiError) => void} refused Final: the token is not valid, or there is no such session.
 */

/**
 * Follows a session; returns the function that stops it.
 * @param {import('./api.js').Api} api
 * @param {string} key
 * @param {FollowHandlers} handlers
 * @returns {() => void}
 */
export function followSession(api, key, handlers) {
  const controller = new AbortController();
  /** @type {string | undefined} */
  let lastEventId;
  const follow = {
    open: handlers.open,
    lost: handlers.lost,
    refused: handlers.refused,
    /** @param {string} data @param {string | undefined} id */
    data: (data, id) => {
      handlers.event(readEvent(data));
      lastEventId = id ?? lastEventId;
    },
  };
  void keepOpen((signal) => api.openEvents(key, lastEventId, signal), follow, controller.signal);
  return () => controller.abort();
}

/**
 * @typedef {object} StreamHandlers
 * @property {() => void} open The connection is open (again).
 * @property {(data: string, id: string | undefined) => void} data
 * @property {(error: ApiError) => void} [lost] The connection was lost; the next attempt follows.
 * @property {(error: ApiError) => void} refused Final.
 */

/**
 * Keeps a stream open across lost connections until it is refused or ended.
 * @param {(signal: AbortSignal) => Promise<ReadableStream<Uint8Array<ArrayBuffer>>>} openStream
 * @param {StreamHandlers} handlers
 * @param {AbortSignal} [endSignal]
 */
export async function keepOpen(openStream, handlers, endSignal = new AbortController().signal) {
  let waitMs = FIRST_WAIT_MS;
  while (!endSignal.aborted) {
    const silent = new AbortController();
    let watchdog = setTimeout(() => silent.abort(), SILENCE_MS);
    try {
      const body = await openStream(AbortSignal.any([endSignal, silent.signal]));
      handlers.open();
      waitMs = FIRST_WAIT_MS;
      for await (const { id, data } of readEvents(body)) {
        clearTimeout(watchdog);
        watchdog = setTimeout(() => silent.abort(), SILENCE_MS);
        if (endSignal.aborted) return;
        if (data !== '') handlers.data(data, id);
      }
    } catch (error) {
      if (endSignal.aborted) return;
      if (error instanceof ApiError && [401, 403, 404].includes(error.status)) {
        handlers.refused(error);
        return;
      }
    } finally {
      clearTimeout(watchdog);
    }
    if (endSignal.aborted) return;
    handlers.lost?.(new ApiError(0, 'unreachable', say('page.connection.ended')));
    await waitOrOnline(waitMs * (0.5 + Math.random() / 2), endSignal);
    waitMs = Math.min(LONGEST_WAIT_MS, waitMs * 2);
  }
}

/**
 * @param {string} data
 * @returns {AgentEvent}
 */
function readEvent(data) {
  return JSON.parse(data);
}

/**
 * The events of a stream; a comment is an event without data. An incomplete last frame is dropped.
 * @param {ReadableStream<Uint8Array<ArrayBuffer>>} body
 * @returns {AsyncGenerator<{ id?: string, data: string }>}
 */
async function* readEvents(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const frames = (rest + value).split('\n\n');
    rest = frames.pop() ?? '';
    for (const frame of frames) yield parseFrame(frame);
  }
}

/**
 * @param {string} frame
 * @returns {{ id?: string, data: string }}
 */
function parseFrame(frame) {
  /** @type {{ id?: string, data: string }} */
  const event = { data: '' };
  for (const line of frame.split('\n')) {
    if (line.startsWith('id: ')) event.id = line.slice(4);
    else if (line.startsWith('data: ')) event.data += line.slice(6);
  }
  return event;
}

/**
 * Waits, but not longer than until the network is back.
 * @param {number} ms
 * @param {AbortSignal} endSignal
 * @returns {Promise<void>}
 */
function waitOrOnline(ms, endSignal) {
  return new Promise((resolve) => {
    const finish = () => {
      clearTimeout(timer);
      removeEventListener('online', finish);
      resolve();
    };
    const timer = setTimeout(finish, ms);
    addEventListener('online', finish);
    endSignal.addEventListener('abort', finish, { once: true });
  });
}
