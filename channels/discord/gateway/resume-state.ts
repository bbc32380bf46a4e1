/** Keeps the gateway session in the store, with how far its events are stored, so that any process can resume it. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { ConnectionStore, PlatformSession } from '../../../src/protocol/receive.ts';
import type { Log } from '../../../src/protocol/log.ts';
import type { SharedClock } from '../../../src/lib/clock.ts';

import type { ResumableSession } from './socket.ts';

/** Everything up to `sequence` is stored, and everything that was dispatched before `heardAt` (epoch milliseconds). */
interface Position {
  sequence: number;
  heardAt: number | undefined;
}

/**
 * Events arrive in order and are stored in any order: the position is just before the oldest one that is not stored
 * yet. Holds no more than the inbox, whose chats and messages are bounded.
 */
export class Checkpoint {
  #sequence: number;
  #heardAt: number | undefined;
  /** Positions before the events that are not stored yet, in order of arrival. */
  readonly #open = new Map<number, Position>();

  constructor(start: Position) {
    this.#sequence = start.sequence;
    this.#heardAt = start.heardAt;
  }

  get position(): Position {
    const [oldest] = this.#open.values();
    return oldest ?? { sequence: this.#sequence, heardAt: this.#heardAt };
  }

  /** An event has arrived; call the result once it is stored. */
  arrive(sequence: number): () => void {
    this.#open.set(sequence, { sequence: sequence - 1, heardAt: this.#heardAt });
    this.#sequence = Math.max(this.#sequence, sequence);
    return () => {
      this.#open.delete(sequence);
    };
  }

  /** Everything that was dispatched before `at` has arrived. */
  heard(at: number): void {
    this.#heardAt = Math.max(this.#heardAt ?? at, at);
  }
}

/** Who the bot is: the author of its messages, and the application its commands belong to. */
export interface Self {
  botId: string;
  applicationId: string;
}

/** A session as stored. */
export interface StoredSession {
  session: ResumableSession;
  self: Self;
  /** It was started without the privileged intent: texts that do not mention the bot are missing. */
  limited: boolean;
  /** The intents it was started with, except the privileged one. */
  intents: number;
}

const Detail = z.object({
  resumeUrl: z.url({ protocol: /^wss?$/ }),
  botId: z.string(),
  applicationId: z.string(),
  limited: z.boolean(),
  intents: z.number().default(0),
});

export class ResumeState {
  readonly #connections: ConnectionStore;
  readonly #clock: SharedClock;
  readonly #log: Log;
  readonly #saveEveryMs: number;
  #key = '';
  #current: StoredSession | undefined;
  /** How far the events of the current session are stored; `heardAt` is undefined before the very first session. */
  checkpoint = new Checkpoint({ sequence: 0, heardAt: undefined });
  #saved: Position & { sessionId?: string | undefined } = { sequence: 0, heardAt: undefined };
  #timer: NodeJS.Timeout | undefined;
  #saving: Promise<void> = Promise.resolve();

  /** `clock` is set to the time that all nodes share before the position is read. `saveEveryMs`: between two writes of it. */
  constructor(connections: ConnectionStore, clock: SharedClock, log: Log, saveEveryMs: number) {
    this.#connections = connections;
    this.#clock = clock;
    this.#log = log;
    this.#saveEveryMs = saveEveryMs;
  }

  /** The session that the store has under this key; from now on it is written there. Throws `StoreError`. */
  async load(key: string): Promise<StoredSession | undefined> {
    await this.#clock.set(() => this.#connections.epochNow());
    const record = await this.#connections.connection(key);
    this.#key = key;
    this.#current = readSession(record?.session);
    const sequence = this.#current?.session.sequence ?? 0;
    this.checkpoint = new Checkpoint({ sequence, heardAt: record?.heardAt });
    this.#saved = { ...this.checkpoint.position, sessionId: this.#current?.session.sessionId };
    this.#timer ??= setInterval(() => void this.save(), this.#saveEveryMs).unref();
    return this.#current;
  }

  /** A new session has started, with this event; call the result once everything missed before it is stored. */
  begin(session: StoredSession, sequence: number): () => void {
    const { heardAt } = this.checkpoint.position;
    this.#current = session;
    this.checkpoint = new Checkpoint({ sequence: 0, heardAt });
    return this.checkpoint.arrive(sequence);
  }

  /** Writes the position if it has changed; a failed write is retried the next time. Never throws. */
  async save(): Promise<void> {
    this.#saving = this.#saving.then(() => this.#save());
    await this.#saving;
  }

  /** Stops writing; call `save` first. */
  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async #save(): Promise<void> {
    const current = this.#current;
    const { sequence, heardAt } = this.checkpoint.position;
    // A session whose start is still open has no position from which it could be resumed.
    if (current === undefined || heardAt === undefined || sequence === 0) return;
    const { sessionId, resumeURL: resumeUrl } = current.session;
    if (isDeepStrictEqual(this.#saved, { sequence, heardAt, sessionId })) return;
    try {
      const detail = { resumeUrl, ...current.self, limited: current.limited, intents: current.intents };
      await this.#connections.saveSession(this.#key, { id: sessionId, sequence, detail }, heardAt);
      this.#saved = { sequence, heardAt, sessionId };
    } catch (error) {
      this.#log.warn({ err: error }, 'discord_session_not_saved');
    }
  }
}

/** Undefined for none, and for one that another version has written in another format. */
function readSession(session: PlatformSession | undefined): StoredSession | undefined {
  const { data } = Detail.safeParse(session?.detail);
  if (session === undefined || data === undefined) return undefined;
  const { resumeUrl: resumeURL, limited, intents, ...self } = data;
  return {
    session: { sessionId: session.id, resumeURL, sequence: session.sequence },
    self,
    limited,
    intents,
  };
}
