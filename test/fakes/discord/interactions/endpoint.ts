/** The fake Discord posts interactions to an address of the application, signed as the platform does. */
import { generateKeyPairSync, sign } from 'node:crypto';

/** The key pair of the application; Discord publishes the public one. */
export class FakeEndpoint {
  readonly #keys = generateKeyPairSync('ed25519');
  /** Where interactions are posted; undefined while they arrive over the gateway. */
  url: string | undefined;
  /** Statuses of the answers, in order. */
  readonly statuses: number[] = [];
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** `verify_key` of the application. */
  get verifyKey(): string {
    const { x = '' } = this.#keys.publicKey.export({ format: 'jwk' });
    return Buffer.from(x, 'base64url').toString('hex');
  }

  /** Headers of a body that is posted at a given time, epoch milliseconds. */
  headers(body: string, at = this.#now()): Record<string, string> {
    const timestamp = String(Math.floor(at / 1_000));
    const signature = sign(null, Buffer.from(timestamp + body), this.#keys.privateKey).toString('hex');
    return {
      'content-type': 'application/json',
      'x-signature-ed25519': signature,
      'x-signature-timestamp': timestamp,
    };
  }

  /** Sets the address as the Developer Portal does: it must answer a ping, and refuse one with a wrong signature. */
  async save(url: string): Promise<void> {
    const ping = JSON.stringify({ type: 1, id: '1', application_id: '1', token: 't', version: 1 });
    const right = await fetch(url, { method: 'POST', headers: this.headers(ping), body: ping });
    const answer: unknown = right.status === 200 ? await right.json() : undefined;
    const wrong = await fetch(url, { method: 'POST', headers: this.headers(`${ping} `), body: ping });
    const isJson = right.headers.get('content-type')?.startsWith('application/json') === true;
    if (!isJson || JSON.stringify(answer) !== '{"type":1}' || wrong.status !== 401)
      throw new Error(`The endpoint could not be verified: ${right.status}, ${wrong.status}.`);
    this.url = url;
  }

  /** Posts an interaction; a failure is one of the command, as people see it. */
  async post(url: string, event: object): Promise<void> {
    const body = JSON.stringify(event);
    const answer = await fetch(url, { method: 'POST', headers: this.headers(body), body });
    this.statuses.push(answer.status);
    await answer.arrayBuffer();
  }
}
