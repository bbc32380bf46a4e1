/** Reads the Postgres wire protocol between a client and its server, enough to know which statement runs when. */

/** One execution of a statement. */
export interface WireStatement {
  sql: string;
  /** The parameters as they travel: text among length fields. */
  values: string;
}

/** Cuts a stream of bytes into messages of a type byte, a length and a body. */
class MessageCutter {
  #rest = Buffer.alloc(0);
  /** The client's first message has no type. */
  #untyped: boolean;

  constructor(untyped: boolean) {
    this.#untyped = untyped;
  }

  *cut(chunk: Buffer): Generator<{ type: string; body: Buffer }> {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    for (;;) {
      const head = this.#untyped ? 0 : 1;
      if (this.#rest.length < head + 4) return;
      const end = head + this.#rest.readInt32BE(head);
      if (this.#rest.length < end) return;
      const type = this.#untyped ? '' : String.fromCharCode(this.#rest[0] ?? 0);
      yield { type, body: this.#rest.subarray(head + 4, end) };
      this.#rest = this.#rest.subarray(end);
      this.#untyped = false;
    }
  }
}

/** One connection, read from both sides. */
export class WireReader {
  readonly #fromClient = new MessageCutter(true);
  readonly #fromServer = new MessageCutter(false);
  /** SQL of the statements that the client has prepared, by name. */
  readonly #prepared = new Map<string, string>();
  /** How many answers the client has requested, and the server has finished. */
  #asked = 0;
  #answered = 0;

  /** The statements that a piece of the client's bytes runs; `answer` is the number of the answer that ends each. */
  client(chunk: Buffer): (WireStatement & { answer: number })[] {
    const found: (WireStatement & { answer: number })[] = [];
    for (const { type, body } of this.#fromClient.cut(chunk)) {
      if (type === 'Q') found.push({ sql: textAt(body, 0), values: '', answer: this.#asked + 1 });
      if (type === 'P') this.#prepared.set(textAt(body, 0), textAt(body, textAt(body, 0).length + 1));
      if (type === 'B') {
        const name = textAt(body, textAt(body, 0).length + 1);
        const sql = this.#prepared.get(name) ?? '';
        found.push({ sql, values: body.toString('utf8'), answer: this.#asked + 1 });
      }
      if (type === 'Q' || type === 'S') this.#asked += 1;
    }
    return found;
  }

  /** How many answers the server has finished, including this piece of its bytes. */
  server(chunk: Buffer): number {
    for (const { type } of this.#fromServer.cut(chunk)) if (type === 'Z') this.#answered += 1;
    return this.#answered;
  }
}

/** The text up to the next zero byte. */
function textAt(body: Buffer, start: number): string {
  const end = body.indexOf(0, start);
  return body.toString('utf8', start, end === -1 ? body.length : end);
}
