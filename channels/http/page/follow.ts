/** Follows streams of events across reconnects, those of the open session without losing or repeating any. */
import type { AgentEvent } from '../../../src/protocol/event.ts';
import { api, ApiError } from './api.ts';
import { say } from './texts.ts';

/** The server pings every 15 s: after three missed pings the connection is considered lost. */
const SILENCE_MS = 45_000;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10_000;

interface StreamHandlers {
  /** The connection is open (again): what is stored may be newer than what is shown. */
  open: () => void;
  data: (data: string, id: string | undefined) => void;
  /** The connection was lost; the next attempt follows. */
  lost?: (error: ApiError) => void;
  /** Final: the token is not valid, or there is no such session. */
  refused: (error: ApiError) => void;
}

type FollowHandlers = Omit<StreamHandlers, 'data'> & { event: (event: AgentEvent) => void };

/** Follows a session until the signal aborts. */
export function followSession(
  key: string,
  { event, ...handlers }: FollowHandlers,
  endSignal: AbortSignal,
): void {
  let lastEventId: string | undefined;
  const data = (text: string, id: string | undefined): void => {
    event(JSON.parse(text));
    lastEventId = id ?? lastEventId;
  };
  void keepOpen((signal) => api.openEvents(key, lastEventId, signal), { ...handlers, data }, endSignal);
}

/** Keeps a stream open across lost connections until it is refused or ended. */
export async function keepOpen(
  openStream: (signal: AbortSignal) => Promise<ReadableStream<Uint8Array<ArrayBuffer>>>,
  handlers: StreamHandlers,
  endSignal: AbortSignal = new AbortController().signal,
) {
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

/** The events of a stream; a comment is an event without data. An incomplete last frame is dropped. */
async function* readEvents(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<{ id?: string; data: string }> {
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

function parseFrame(frame: string): { id?: string; data: string } {
  const event: { id?: string; data: string } = { data: '' };
  for (const line of frame.split('\n')) {
    if (line.startsWith('id: ')) event.id = line.slice(4);
    else if (line.startsWith('data: ')) event.data += line.slice(6);
  }
  return event;
}

/** Waits, but not longer than until the network is back. */
function waitOrOnline(ms: number, endSignal: AbortSignal): Promise<void> {
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
