/** The setup of HTTP tests: a channel on a fake gateway, and a client for it. */
import pino from 'pino';
import { create, type HttpChannel, type HttpConfig } from '../../../channels/http/index.ts';
import { manifest } from '../../../channels/http/manifest.ts';
import type { FakeClock } from '../../fakes/clock.ts';
import { checkDeclared } from './declared.ts';
import { chosenLanguages } from '../../fakes/gateway/languages.ts';
import type { AgentEvent } from '../../../src/protocol/event.ts';
import { ADMIN, FakeGateway } from '../../fakes/gateway/gateway-api.ts';

/** A listening channel and its fake gateway. */
export interface OpenApi {
  gateway: FakeGateway;
  channel: HttpChannel;
  url: string;
  /**
   * A request with the owner's token and, for a body, JSON; `init.headers` win. Throws for an answer that the API's
   * description does not declare.
   */
  call(path: string, init?: CallInit): Promise<Response>;
  close(): Promise<void>;
}

/** Options of a call. */
export interface CallInit {
  method?: string;
  headers?: Record<string, string>;
  /** Sent as JSON. */
  json?: unknown;
  signal?: AbortSignal;
}

/** Settings for a free port. */
export const HTTP_CONFIG: HttpConfig = { host: '127.0.0.1', port: 0, ...manifest.settings.parse({}) };

/** Opens a channel on a free port. */
export async function openApi(config: Partial<HttpConfig> = {}, clock?: FakeClock): Promise<OpenApi> {
  const gateway = new FakeGateway();
  const log = pino({ level: 'silent' });
  const channel = create(
    { ...HTTP_CONFIG, ...config },
    { log, gateway, languages: chosenLanguages() },
    clock,
  );
  await channel.start(gateway.receive);
  const url = channel.url ?? '';
  return {
    gateway,
    channel,
    url,
    call: (path, init = {}) => call(url + path, init),
    close: () => channel.stop(),
  };
}

async function call(url: string, { method, headers = {}, json, signal }: CallInit): Promise<Response> {
  const body = json === undefined ? {} : { body: JSON.stringify(json) };
  const type: Record<string, string> = json === undefined ? {} : { 'content-type': 'application/json' };
  const verb = method ?? (json === undefined ? 'GET' : 'POST');
  const response = await fetch(url, {
    method: verb,
    headers: { authorization: ADMIN, ...type, ...headers },
    ...body,
    ...(signal === undefined ? {} : { signal }),
  });
  await checkDeclared(verb, url, response);
  return response;
}

/** One frame of an event stream; a comment has only `comment`. */
export interface Frame {
  id?: string;
  data?: string;
  comment?: string;
}

/** Reads frames as they arrive. Ends with the stream; throws if the connection breaks. */
export async function* frames(response: Response): AsyncGenerator<Frame> {
  if (response.body === null) return;
  let rest = '';
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const parts = (rest + text).split('\n\n');
    rest = parts.pop() ?? '';
    for (const part of parts) yield toFrame(part);
  }
}

function toFrame(part: string): Frame {
  const frame: Frame = {};
  for (const line of part.split('\n')) {
    if (line.startsWith('id: ')) frame.id = line.slice(4);
    else if (line.startsWith('data: ')) frame.data = line.slice(6);
    else if (line.startsWith(':')) frame.comment = line.slice(1).trim();
  }
  return frame;
}

/** The events of a session's stream up to and including the first that satisfies `last`. */
export async function eventsUntil(
  response: Response,
  last: (event: AgentEvent) => boolean,
): Promise<{ ids: string[]; events: AgentEvent[] }> {
  const ids: string[] = [];
  const events: AgentEvent[] = [];
  for await (const frame of frames(response)) {
    if (frame.data === undefined) continue;
    const event: AgentEvent = JSON.parse(frame.data);
    events.push(event);
    if (frame.id !== undefined) ids.push(frame.id);
    if (last(event)) break;
  }
  return { ids, events };
}

/** All remaining frames. */
export async function allFrames(source: Response | AsyncGenerator<Frame>): Promise<Frame[]> {
  const read: Frame[] = [];
  for await (const frame of source instanceof Response ? frames(source) : source) read.push(frame);
  return read;
}

/** The answer's text in the chunks of a completion. */
export function textOf(read: Frame[]): string {
  return read
    .filter((frame) => frame.data?.startsWith('{') === true)
    .map((frame) => JSON.parse(frame.data ?? '{}').choices?.[0]?.delta?.content ?? '')
    .join('');
}
