/** Interactions that Discord posts to the gateway instead of sending them over its connection: any node answers them. */
import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { z } from 'zod';
import { ChannelError } from '../../../src/protocol/errors.ts';
import type { PlatformInteractions, Receive } from '../../../src/protocol/receive.ts';
import { pause } from '../../../src/lib/async/sleep.ts';
import type { DiscordRest } from '../rest/rest.ts';
import type { Interactions } from './interactions.ts';

/** Older signatures, and those from the future, are refused: someone may replay a body. In milliseconds. */
export const STALE_MS = 5 * 60_000;
/** Longest wait before answering Discord, in milliseconds: Discord waits three seconds. */
const ANSWER_MS = 2_500;
const PING = 1;

const Application = z.object({ verify_key: z.string().regex(/^[0-9a-f]{64}$/i) });
const Event = z.object({ type: z.number() });

export interface EndpointParts {
  rest: Pick<DiscordRest, 'call'>;
  interactions: Pick<Interactions, 'takeEvent'>;
  receive: Receive;
  /** Asks Discord, once, who the bot is. Throws `ChannelError`. */
  botId: (signal: AbortSignal) => Promise<string>;
  /** Epoch milliseconds. */
  epochNow: () => number;
}

export class InteractionEndpoint implements PlatformInteractions {
  readonly #parts: EndpointParts;
  #key: Promise<KeyObject> | undefined;

  constructor(parts: EndpointParts) {
    this.#parts = parts;
  }

  /** Checks the signature (Ed25519 over the time and the raw body) before anything of the body is read. */
  async isGenuine(headers: Parameters<PlatformInteractions['isGenuine']>[0], body: Buffer): Promise<boolean> {
    const { 'x-signature-ed25519': signature, 'x-signature-timestamp': at } = headers;
    if (typeof signature !== 'string' || !/^[0-9a-f]{128}$/i.test(signature)) return false;
    if (typeof at !== 'string' || !/^\d{1,12}$/.test(at)) return false;
    if (Math.abs(this.#parts.epochNow() - Number(at) * 1_000) > STALE_MS) return false;
    const signed = Buffer.concat([Buffer.from(at), body]);
    return verify(null, signed, await this.#publicKey(), Buffer.from(signature, 'hex'));
  }

  async answer(body: Buffer): Promise<object | 'taken' | 'invalid'> {
    const event = readJson(body);
    const { data } = Event.safeParse(event);
    if (data === undefined) return 'invalid';
    if (data.type === PING) return { type: PING };
    const { interactions, receive, botId } = this.#parts;
    const self = await botId(AbortSignal.timeout(ANSWER_MS));
    const limit = new AbortController();
    // Anything that takes longer has been acknowledged as a command in progress.
    await Promise.race([interactions.takeEvent(event, receive, self), pause(ANSWER_MS, limit.signal)]);
    limit.abort();
    return 'taken';
  }

  /** The application's key (`GET /applications/@me`), requested once. */
  async #publicKey(): Promise<KeyObject> {
    this.#key ??= this.#askKey();
    try {
      return await this.#key;
    } catch (error) {
      this.#key = undefined;
      throw error;
    }
  }

  async #askKey(): Promise<KeyObject> {
    const call = { method: 'get', path: '/applications/@me', bucket: 'application' } as const;
    const { data } = Application.safeParse(await this.#parts.rest.call(call));
    if (data === undefined) {
      const text = 'Discord did not give the key that its posts are signed with; asking again later.';
      throw new ChannelError('unavailable', text, { retryable: true });
    }
    const x = Buffer.from(data.verify_key, 'hex').toString('base64url');
    return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  }
}

function readJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
