/** One client of the embedded server: its startup and its messages, grouped up to each one that expects an answer. */
import type { Socket } from 'node:net';
import {
  cString,
  kindOf,
  makeFrame,
  MAX_FRAME_BYTES,
  ownStatement,
  parsedName,
  SYNC,
  takeFrames,
  takeOpening,
  welcome,
} from './wire.ts';

/** Messages up to and including one that expects an answer. `ends`: a ReadyForQuery will report the state of the session. */
export interface MessageGroup {
  bytes: Buffer;
  ends: boolean;
}

/** Reads a client's socket and holds its messages until it is the client's turn. */
export class PgClient {
  /** From the start-up packet; set in the session when this client's turn begins. */
  searchPath = 'public';
  open = true;
  readonly socket: Socket;
  readonly #id: number;
  readonly #groups: MessageGroup[] = [];
  readonly #statements = new Set<string>();
  #incoming: Buffer = Buffer.alloc(0);
  #unfinished: Buffer[] = [];
  #welcomed = false;

  /** `onChange` is called when a first message is waiting, and when the client has disconnected. */
  constructor(id: number, socket: Socket, onChange: (client: PgClient) => void) {
    this.#id = id;
    this.socket = socket;
    socket.on('data', (chunk: Buffer) => {
      const waiting = this.waiting;
      try {
        this.#read(chunk);
      } catch {
        // Not the Postgres protocol: there is no answer to it.
        socket.destroy();
      }
      if (!waiting && this.waiting) onChange(this);
    });
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      this.open = false;
      this.#groups.length = 0;
      onChange(this);
    });
  }

  get waiting(): boolean {
    return this.#groups.length > 0;
  }

  takeGroup(): MessageGroup | undefined {
    return this.#groups.shift();
  }

  /** Messages that close the prepared statements of a disconnected client; undefined if it created none. */
  farewell(): Buffer | undefined {
    if (this.#statements.size === 0) return undefined;
    const closes = [...this.#statements].map((name) => makeFrame('C', Buffer.from('S'), cString(name)));
    this.#statements.clear();
    return Buffer.concat([...closes, SYNC]);
  }

  #read(chunk: Buffer): void {
    this.#incoming = this.#incoming.length === 0 ? chunk : Buffer.concat([this.#incoming, chunk]);
    while (!this.#welcomed) if (!this.#greet()) return;
    const { frames, rest } = takeFrames(this.#incoming);
    this.#incoming = rest;
    for (const frame of frames) this.#takeFrame(frame);
    if (this.#incoming.length > MAX_FRAME_BYTES) this.socket.destroy();
  }

  #greet(): boolean {
    const taken = takeOpening(this.#incoming);
    if (taken === undefined) return false;
    this.#incoming = taken.rest;
    const { opening } = taken;
    if (opening.kind === 'cancel') {
      // Cancelling is not supported: statements are short, and there is only one session.
      this.socket.destroy();
      return false;
    }
    if (opening.kind === 'encryption') {
      this.socket.write('N');
      return true;
    }
    this.#welcomed = true;
    this.searchPath = opening.parameters.get('search_path') ?? 'public';
    this.socket.write(welcome(this.#id));
    return true;
  }

  #takeFrame(frame: Buffer): void {
    const kind = kindOf(frame);
    if (kind === 'X') {
      this.socket.end();
      return;
    }
    const own = ownStatement(frame, `c${this.#id}_`);
    const name = kind === 'P' ? parsedName(own) : '';
    if (name !== '') this.#statements.add(name);
    this.#unfinished.push(own);
    // Sync, Query and Flush ask for an answer; anything else may wait for them.
    if (!'SQH'.includes(kind)) return;
    this.#groups.push({ bytes: Buffer.concat(this.#unfinished), ends: kind !== 'H' });
    this.#unfinished = [];
  }
}
