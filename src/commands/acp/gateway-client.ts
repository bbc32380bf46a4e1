/** The HTTP API of a running gateway, as the bridge to an editor uses it. */
import { z } from 'zod';
import { backoffMs } from '../../lib/async/backoff.ts';
import { type Clock, pauseOn } from '../../lib/clock.ts';
import { linesOf } from '../../lib/lines.ts';
import { type AgentEvent, ENVELOPE, EVENTS } from '../../protocol/event.ts';
import { GatewayError, toGatewayError } from '../../protocol/errors.ts';
import type { ServiceFetch } from '../../protocol/agent/tool.ts';
import { PARLEY } from '../../protocol/texts/parley.ts';
import { parseJson } from '../../lib/json/json.ts';

/** Longest line of an event stream, in bytes. */
const MAX_LINE_BYTES = 10 * 1024 * 1024;
/** First pause before a call is repeated that found no gateway, and the longest one, in milliseconds. */
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;

const refusal = z.object({ error: z.object({ message: z.string(), code: z.string() }) });
const eventBody = z.discriminatedUnion('type', EVENTS);
const envelope = z.object(ENVELOPE);

/** Where the gateway is, and who asks. */
export interface GatewayAddress {
  url: string;
  token: string;
}

/** An event of a session with its place, after which a new stream begins. */
export interface SeenEvent {
  id: string | undefined;
  event: AgentEvent;
}

export class GatewayClient {
  readonly #address: GatewayAddress;
  readonly #request: ServiceFetch['request'];
  readonly #clock: Clock;

  constructor(address: GatewayAddress, request: ServiceFetch['request'], clock: Clock) {
    this.#address = address;
    this.#request = request;
    this.#clock = clock;
  }

  /** Calls a route; with a body it is a POST. Throws `GatewayError` with the code of the gateway, retryable without an answer. */
  async call<Answer>(
    path: string,
    schema: z.ZodType<Answer>,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const answer =
      body === undefined
        ? await this.#send(path, { headers })
        : await this.#send(path, {
            method: 'POST',
            body: JSON.stringify(body),
            headers: { 'content-type': 'application/json', ...headers },
          });
    return schema.parse(await answer.json());
  }

  /** The same until the gateway answers: it may be starting. Throws `GatewayError` for a refusal, and the signal's reason. */
  async callUntilAnswered<Answer>(
    signal: AbortSignal,
    ...call: Parameters<typeof this.call<Answer>>
  ): Promise<Answer> {
    for (let attempt = 0; ; attempt += 1) {
      signal.throwIfAborted();
      try {
        return await this.call(...call);
      } catch (error) {
        if (!toGatewayError(error).retryable) throw error;
      }
      await pauseOn(this.#clock, backoffMs(attempt, FIRST_PAUSE_MS, LONGEST_PAUSE_MS), signal);
    }
  }

  /** The events of a session after `lastEventId`, until the connection ends. Throws `GatewayError`. */
  async *events(
    session: string,
    lastEventId: string | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<SeenEvent, undefined> {
    const headers: Record<string, string> = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
    const answer = await this.#send(`/v1/sessions/${encodeURIComponent(session)}/events`, {
      headers,
      signal,
    });
    let id: string | undefined;
    try {
      for await (const { bytes } of linesOf(answer.body ?? new ReadableStream(), MAX_LINE_BYTES)) {
        const line = bytes?.toString('utf8') ?? '';
        if (line === '') id = undefined;
        else if (line.startsWith('id: ')) id = line.slice('id: '.length);
        else if (line.startsWith('data: ')) {
          const event = readEvent(line.slice('data: '.length));
          if (event !== undefined) yield { id, event };
        }
      }
    } catch (cause) {
      throw new GatewayError('unavailable', 'The connection to the gateway has ended.', {
        cause,
        retryable: true,
      });
    }
    return undefined;
  }

  async #send(
    path: string,
    init: Omit<RequestInit, 'headers'> & { headers: Record<string, string> },
  ): Promise<Response> {
    const { url, token } = this.#address;
    const headers = { authorization: `Bearer ${token}`, ...init.headers };
    let answer: Response;
    try {
      answer = await this.#request(new URL(path, url).href, { ...init, headers });
    } catch (cause) {
      const text = `No gateway answers at ${url}: start it with "${PARLEY} start", or name its address with --url.`;
      throw new GatewayError('unavailable', text, { cause, retryable: true });
    }
    if (answer.ok) return answer;
    const { data } = refusal.safeParse(parseJson(await answer.text()));
    const message = data?.error.message ?? `The gateway answered with status ${answer.status}.`;
    const retryable = answer.status >= 500 || answer.status === 429;
    throw new GatewayError(data?.error.code ?? 'refused', message, { retryable });
  }
}

/** Undefined for a kind of event that this version does not know. */
function readEvent(json: string): AgentEvent | undefined {
  const value = parseJson(json);
  const [body, around] = [eventBody.safeParse(value), envelope.safeParse(value)];
  return body.success && around.success ? { ...around.data, ...body.data } : undefined;
}
