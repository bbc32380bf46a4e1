/** Inbound webhooks: programs that call the gateway with a signed request. */

/** A request as it arrived. */
export interface HookRequest {
  /** Names are in lower case. */
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The bytes that were signed. */
  body: Uint8Array;
}

/**
 * What happens to a request: a turn or a notice, durable; the same one as before; or nothing. `unsigned`: the signature
 * is missing, wrong or stale, or there is no such webhook; these look the same.
 */
export type HookReceipt =
  | { kind: 'accepted'; turnId: string | null }
  | { kind: 'duplicate' }
  | { kind: 'unsigned'; why: 'missing' | 'wrong' | 'stale' }
  | { kind: 'invalid' }
  | { kind: 'full' };

/** Receives the requests of webhooks. */
export interface HookApi {
  /** Throws only `StoreError`: then nothing was accepted, and the request may be repeated. */
  accept(name: string, request: HookRequest): Promise<HookReceipt>;
}
