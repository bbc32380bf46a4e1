/** A small client of the gateway's HTTP API: copy it with api.ts, and use it with any fetch. */
import type { Api, Event } from './api.ts';

/** Everything of an operation but its answer. */
type Input<Name extends keyof Api> = Omit<Api[Name], 'answer'>;

/** The gateway's refusal: `code` says which, for programs; the message says what to do. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export class Client {
  readonly #url: string;
  readonly #token: string;

  constructor(url: string, token: string) {
    this.#url = url.replace(/\/$/, '');
    this.#token = token;
  }

  /** Calls one operation: `call('GET /v1/sessions/{key}', { path: { key } })`. Throws `ApiError`. */
  async call<Name extends keyof Api>(
    name: Name,
    input: Input<Name>,
    headers: Record<string, string> = {},
  ): Promise<Api[Name]['answer']> {
    const answer = await this.#send(name, input, headers);
    return (await answer.json()) as Api[Name]['answer'];
  }

  /**
   * The events of a session from now on, or after `lastEventId`. It ends when the connection does: begin again after the
   * last `id` that came, and nothing is lost or repeated. Throws `ApiError`.
   */
  async *events(key: string, lastEventId?: string): AsyncGenerator<{ id?: string; event: Event }> {
    const headers: Record<string, string> = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
    const answer = await this.#send('GET /v1/sessions/{key}/events', { path: { key } }, headers);
    let text = '';
    for await (const part of (answer.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
      text += part;
      const frames = text.split('\n\n');
      text = frames.pop() ?? '';
      for (const frame of frames) {
        const data = /^data: (.*)$/m.exec(frame)?.[1];
        const id = /^id: (.*)$/m.exec(frame)?.[1];
        if (data !== undefined) yield { ...(id !== undefined && { id }), event: JSON.parse(data) as Event };
      }
    }
  }

  async #send(name: keyof Api, input: object, headers: Record<string, string>): Promise<Response> {
    const {
      path = {},
      query = {},
      body,
    } = input as {
      path?: Record<string, string>;
      query?: Record<string, string>;
      body?: unknown;
    };
    const [method = 'GET', template = ''] = name.split(' ');
    const place = template.replaceAll(/\{(\w+)\}/g, (_, field: string) =>
      encodeURIComponent(path[field] ?? ''),
    );
    const question = new URLSearchParams(query).toString();
    const answer = await fetch(`${this.#url}${place}${question && `?${question}`}`, {
      method,
      headers: {
        authorization: `Bearer ${this.#token}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }).catch((cause: unknown) => {
      throw new Error(`No gateway answers at ${this.#url}.`, { cause });
    });
    if (answer.ok) return answer;
    const { error } = (await answer.json()) as { error: { code: string; message: string } };
    throw new ApiError(answer.status, error.code, error.message);
  }
}
