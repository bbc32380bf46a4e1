/** Event stream readers that never give up: each continues after the last event it saw, and remembers what it read. */
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { FIRST_EVENT_ID } from '../../src/protocol/event.ts';
import { frames } from '../channels/http/client.ts';

/** Pause before an ended stream is reopened, in milliseconds. */
const AGAIN_MS = 60;

/** A turn as one reader saw it. */
export interface ReadTurn {
  /** The texts of its model calls, by call; a snapshot is stored alone under its own name. */
  texts: Map<string, string>;
  /** How often its end was seen. */
  ends: number;
}

const event = z.object({
  type: z.string(),
  turnId: z.string().optional(),
  msgId: z.string().optional(),
  delta: z.string().optional(),
  text: z.string().optional(),
  isSubagent: z.boolean().optional(),
});
type ReadEvent = z.infer<typeof event>;

/** The key for a snapshot's text: it replaces everything before it. */
const SNAPSHOT = 'snapshot';

/** One user who watches one session over HTTP. */
export class EventReader {
  /** By turn id. */
  readonly turns = new Map<string, ReadTurn>();
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;
  /** A reader reads all of a turn that is running when it connects. */
  #lastId = FIRST_EVENT_ID;

  /** `url` returns the gateway to ask now; `session` is the session key. */
  constructor(options: { url: () => Promise<string>; session: string; token: string }) {
    this.#running = this.#follow(options);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  async #follow({ url, session, token }: ConstructorParameters<typeof EventReader>[0]): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        const response = await fetch(`${await gone(url(), signal)}/v1/sessions/${session}/events`, {
          headers: { authorization: `Bearer ${token}`, 'last-event-id': this.#lastId },
          signal,
        });
        if (response.ok) await this.#read(response);
        else await response.body?.cancel();
      } catch {
        // The gateway died, is not up yet, or has no events for the session yet: the next attempt resolves it.
      }
      await pause(AGAIN_MS);
    }
  }

  async #read(response: Response): Promise<void> {
    for await (const { id, data } of frames(response)) {
      if (data === undefined) continue;
      this.#lastId = id ?? this.#lastId;
      const read = event.parse(JSON.parse(data));
      if (read.turnId !== undefined && read.isSubagent !== true) this.#note(read.turnId, read);
    }
  }

  #note(turnId: string, { type, msgId = '', delta = '', text = '' }: ReadEvent): void {
    const turn = this.turns.get(turnId) ?? { texts: new Map<string, string>(), ends: 0 };
    this.turns.set(turnId, turn);
    if (type === 'stream_chunk') turn.texts.set(msgId, (turn.texts.get(msgId) ?? '') + delta);
    if (type === 'stream_reset') turn.texts.delete(msgId);
    if (type === 'turn_ended') turn.ends += 1;
    if (type !== 'snapshot') return;
    turn.texts.clear();
    turn.texts.set(SNAPSHOT, text);
  }
}

/** Rejects as soon as no one is waiting anymore. */
async function gone<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(new Error('The reader is closed.'));
  signal.addEventListener('abort', onAbort);
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
