/** Interactions that Discord posts to the gateway instead of sending them over its connection: any node answers them. */
import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { InteractionResponseType, InteractionType, Routes } from 'discord.js';
import { z } from 'zod';
import { channelUnavailable } from '../../../src/protocol/errors.ts';
import type { PlatformInteractions } from '../../../src/protocol/receive.ts';
import { waitAtMost } from '../../../src/lib/async/sleep.ts';
import { parseJson } from '../../../src/lib/json/json.ts';
import type { DiscordRest } from '../rest.ts';

/** Older signatures, and those from the future, are refused: someone may replay a body. In milliseconds. */
export const STALE_MS = 5 * 60_000;
/** Longest wait before answering Discord, in milliseconds: Discord waits three seconds. */
const ANSWER_MS = 2_500;
const PING: number = InteractionType.Ping;

const Application = z.object({ verify_key: z.string().regex(/^[0-9a-f]{64}$/i) });
const Event = z.object({ type: z.number() });

export class InteractionEndpoint implements PlatformInteractions {
  readonly #rest: DiscordRest;
  readonly #epochNow: () => number;
  readonly #takeEvent: (event: unknown, signal: AbortSignal) => Promise<void>;
  #key: Promise<KeyObject> | undefined;

  /** `takeEvent` acts on an interaction, and throws `ChannelError` where the bot is not known by the end of `signal`. */
  constructor(
    rest: DiscordRest,
    epochNow: () => number,
    takeEvent: (event: unknown, signal: AbortSignal) => Promise<void>,
  ) {
    this.#rest = rest;
    this.#epochNow = epochNow;
    this.#takeEvent = takeEvent;
  }

  /** Checks the signature (Ed25519 over the time and the raw body) before anything of the body is read. */
  async isGenuine(headers: Parameters<PlatformInteractions['isGenuine']>[0], body: Buffer): Promise<boolean> {
    const { 'x-signature-ed25519': signature, 'x-signature-timestamp': at } = headers;
    if (typeof signature !== 'string' || !/^[0-9a-f]{128}$/i.test(signature)) return false;
    if (typeof at !== 'string' || !/^\d{1,12}$/.test(at)) return false;
    if (Math.abs(this.#epochNow() - Number(at) * 1_000) > STALE_MS) return false;
    const signed = Buffer.concat([Buffer.from(at), body]);
    return verify(null, signed, await this.#publicKey(), Buffer.from(signature, 'hex'));
  }

  async answer(body: Buffer): Promise<object | 'taken' | 'invalid'> {
    const event = parseJson(body.toString('utf8'));
    const { data } = Event.safeParse(event);
    if (data === undefined) return 'invalid';
    if (data.type === PING) return { type: InteractionResponseType.Pong };
    // Anything that takes longer has been acknowledged as a command in progress.
    await waitAtMost(ANSWER_MS, this.#takeEvent(event, AbortSignal.timeout(ANSWER_MS)));
    return 'taken';
  }

  /** The application's key, requested once. */
  async #publicKey(): Promise<KeyObject> {
    this.#key ??= this.#readKey();
    try {
      return await this.#key;
    } catch (error) {
      this.#key = undefined;
      throw error;
    }
  }

  async #readKey(): Promise<KeyObject> {
    const answer = await this.#rest.get(Routes.currentApplication(), 'application');
    const { data } = Application.safeParse(answer);
    if (data === undefined)
      throw channelUnavailable(
        'Discord did not return the key that its posts are signed with; asking again later.',
      );
    const x = Buffer.from(data.verify_key, 'hex').toString('base64url');
    return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  }
}
