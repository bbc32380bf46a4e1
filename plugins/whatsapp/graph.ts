/** Calls to the Graph API: each gives what was answered, or fails with a `GraphFailure`. */
import { GraphFailure, RefusalCounts, toFailure } from './failures.ts';

/** Longest call, and longest upload or download, in milliseconds. */
const CALL_MS = 30_000;
const TRANSFER_MS = 300_000;
/** Hosts besides the API that get the token: those of its media ("Download media"). */
const MEDIA_HOST = /^[a-z0-9-]+\.fbsbx\.com$/;
/** Failures of a connection before anything was sent. */
const NOT_SENT =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|EACCES|UND_ERR_CONNECT_TIMEOUT|CERT_\w+|ERR_TLS_\w+|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_\w+|SELF_SIGNED_\w+)$/;

export interface GraphSettings {
  /** With its version: `https://graph.facebook.com/v25.0`. */
  root: string;
  /** Secret. */
  token: string;
}

interface Call {
  method: 'GET' | 'POST' | 'DELETE';
  path: string;
  /** An object is sent as JSON. */
  body?: object | FormData | undefined;
  /** Whom it is for. */
  chatId?: string | undefined;
  signal?: AbortSignal | undefined;
}

export class Graph {
  readonly #settings: GraphSettings;
  readonly #counts = new RefusalCounts();

  constructor(settings: GraphSettings) {
    this.#settings = settings;
  }

  /** The parsed answer. A POST whose answer is lost fails with `outcome_unknown`. */
  async call({ method, path, body, chatId, signal }: Call): Promise<unknown> {
    const isForm = body instanceof FormData;
    const limit = AbortSignal.timeout(isForm ? TRANSFER_MS : CALL_MS);
    const response = await this.#fetch(`${this.#settings.root}/${path}`, {
      method,
      ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }),
      ...(body !== undefined && !isForm && { headers: { 'content-type': 'application/json' } }),
      signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
    });
    const text = await response.text().catch((cause: unknown) => {
      throw lost(method, cause);
    });
    if (!response.ok)
      throw toFailure(response.status, response.headers, text, { counts: this.#counts, chatId });
    this.#counts.clear('');
    if (chatId !== undefined) this.#counts.clear(chatId);
    try {
      return JSON.parse(text);
    } catch (cause) {
      throw lost(method, cause);
    }
  }

  /** The bytes at an address that the API gave. Throws `rejected` for one that is not WhatsApp's. */
  async download(address: string, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    const { host, protocol } = new URL(address);
    const api = new URL(this.#settings.root);
    const isOwn = host === api.host && protocol === api.protocol;
    if (!isOwn && !(protocol === 'https:' && MEDIA_HOST.test(host)))
      throw new GraphFailure('rejected', `WhatsApp keeps this file at ${host}, which gets no token.`);
    const within = AbortSignal.any([signal, AbortSignal.timeout(TRANSFER_MS)]);
    // A redirect would carry the token elsewhere.
    const response = await this.#fetch(address, { method: 'GET', signal: within, redirect: 'error' });
    if (!response.ok)
      throw toFailure(response.status, response.headers, await response.text(), { counts: this.#counts });
    return bytesOf(response);
  }

  async #fetch(address: string, init: RequestInit & { method: string }): Promise<Response> {
    const headers = new Headers(init.headers);
    headers.set('authorization', `Bearer ${this.#settings.token}`);
    return await fetch(address, { ...init, headers }).catch((error: unknown) => {
      throw lost(init.method, error);
    });
  }
}

/** Whom a message is for: a phone number, or the id of a person who hides it. */
export function addressed(chatId: string): Record<string, string> {
  const isPhone = /^\d+$/.test(chatId);
  return {
    messaging_product: 'whatsapp',
    recipient_type: 'individual',
    ...(isPhone ? { to: chatId } : { recipient: chatId }),
  };
}

async function* bytesOf({ body }: Response): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of body ?? []) yield chunk;
  } catch {
    // The cause names the address, which is good for five minutes.
    throw new GraphFailure('unavailable', 'The file did not come through between WhatsApp and here.');
  }
}

/** The failure of a call without an answer; only the code of the cause is named: requests contain the token. */
function lost(method: string, error: unknown): GraphFailure {
  const code = codeOf(error);
  const reason = code === '' ? '' : ` (${code})`;
  if (method === 'POST' && !NOT_SENT.test(code))
    return new GraphFailure('outcome_unknown', `The answer of WhatsApp was lost${reason}.`);
  return new GraphFailure('unavailable', `WhatsApp cannot be reached${reason}.`);
}

function codeOf(error: unknown): string {
  for (let at: unknown = error; at instanceof Error; at = at.cause)
    if ('code' in at && typeof at.code === 'string') return at.code;
  return '';
}
