/** One record for each route of the HTTP API: its address, who may call it, what it reads and answers, and its handler. */
import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { z } from 'zod';
import type { Caller, Scope } from '../../src/protocol/access.ts';
import type { GatewayApi } from '../../src/protocol/gateway-api.ts';
import type { Log } from '../../src/protocol/log.ts';
import type { Receive } from '../../src/protocol/receive.ts';
import type { PageLanguages } from '../../src/protocol/texts/languages.ts';
import type { WrongTokens } from './authenticator.ts';
import type { HttpConfig } from './config.ts';
import type { LargeBodies } from './limits/bodies.ts';
import type { OpenSockets } from './limits/open-sockets.ts';
import type { Strangers } from './limits/strangers.ts';
import type { TokenLimits } from './limits/token-limits.ts';
import type { FieldTable } from './model-apis/fields.ts';
import type { OpenStreams } from './open-streams.ts';
import type { AnsweredTurns, KeptCompletions } from './repeats.ts';

/** What the channel gets from the gateway. */
export interface HttpDeps {
  log: Log;
  gateway: GatewayApi;
  languages: PageLanguages;
}

/** Dependencies of the handlers. */
export interface HandlerDeps extends HttpDeps {
  receive: Receive;
  streams: OpenStreams;
  /** Completions without a session, kept under their `Idempotency-Key`. */
  completions: KeptCompletions;
  /** Turns whose answer has reached a client. */
  answered: AnsweredTurns;
  limits: TokenLimits;
  largeBodies: LargeBodies;
  wrongTokens: WrongTokens;
  sockets: OpenSockets;
  strangers: Strangers;
  /** How the bot presents itself to other agents. */
  a2a: HttpConfig['a2a'];
  /** The client's address, as limits count it. */
  addressOf: (incoming: IncomingMessage) => string;
  /** True for a request on a connection of a trusted proxy. */
  isFromProxy: (incoming: IncomingMessage) => boolean;
}

/** Hono's environment; `caller` is set on routes with a scope. */
export interface HttpEnv {
  Bindings: HttpBindings;
  Variables: { caller: Caller };
}

/** The context of one request. */
export type HttpContext = Context<HttpEnv>;

/** Where a route is, and what a token must be allowed to do; without a scope no token is needed. */
interface RouteAddress {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** As Hono reads it: `/v1/plans/:id`, `*` for a rest with slashes. */
  path: string;
  scope?: Scope;
}

/** What a route reads, and what answers it. */
interface RouteHandler<Body> {
  /** `optional`: one that is sent must be valid; `ticket`: a ticket in the address may stand for it. */
  token?: 'optional' | 'ticket';
  /** The body that is read, by the schema that checks it. */
  body?: z.ZodType<Body>;
  /** The request works without its body. */
  bodyOptional?: true;
  /** The body is read whatever content type it claims to have. */
  anyType?: true;
  /** The body may be large, because it carries files as base64. */
  carriesFiles?: true;
  /** The fields that the body may have: others, and refused ones, are an error. */
  fields?: FieldTable;
  /** Answers one request. `read` checks the body and throws `HttpError`. What a handler throws becomes an error answer. */
  handle(c: HttpContext, deps: HandlerDeps, read: () => Promise<Body>): Response | Promise<Response>;
}

/** The same with what the API's description says about it. */
interface RouteDetails<Body> extends RouteHandler<Body> {
  summary: string;
  /** What one would not guess: limits, rights, what repeats do. */
  description: string;
  /** Fields of the query, each with what it is. */
  query?: Record<string, string>;
  /** The body is a file or a form instead, or, beside `body`, may be one: by content type. */
  upload?: Readonly<Record<string, object>>;
  /** The status of success; 200 by default. */
  status?: number;
  /** The body of the answer; a JSON object of any form by default. `session-events`: the data of each event is one of the catalogue. */
  answer?: z.ZodType | 'text' | 'events' | 'session-events' | 'bytes' | 'nothing';
  /** Further bodies: in another form, or with another status of success. */
  others?: readonly OtherAnswer[];
}

/** A route that is served but not described, such as the files of the page. */
export type ServedRoute<Body = unknown> = RouteAddress & RouteHandler<Body>;
/** A route of the API: the table of routes, the checks of a request and the OpenAPI document all follow from it. */
export type Route<Body = unknown> = RouteAddress & RouteDetails<Body> & { tag: keyof typeof TAGS };

/** A body besides the usual one. */
export interface OtherAnswer {
  /** That of the usual one by default. */
  status?: number;
  /** The content type; JSON by default. */
  type?: string;
  /** A text, or the schema of JSON; nothing without a body. */
  body: z.ZodType | 'text' | 'bytes' | 'nothing';
}

/** What the routes are about. */
export const TAGS = {
  gateway: 'The gateway itself: its health, sign-in, commands, languages, webhooks',
  openai: 'The API of OpenAI, over the sessions and models of the gateway',
  ollama: 'The API of Ollama, over the same sessions and models',
  sessions: 'Conversations: their messages, turns, events and chats',
  files: 'Files of conversations',
  knowledge: 'Documents that the bot searches, and what answers cite',
  plans: 'Plans: steps that are shown, changed and run',
  approvals: 'Tool calls that wait for a person',
  schedules: 'Tasks that start on their own',
  usage: 'Tokens, model time and costs',
  administration: 'What needs the scope `admin`',
};

/** Returns what makes the records of routes about one thing. The type of `read` follows from `body`. */
export function routeOf(tag: Route['tag']) {
  return <Body>(
    method: Route['method'],
    path: string,
    scope: Scope | 'none',
    details: RouteDetails<Body>,
  ): Route => ({ method, path, tag, ...(scope !== 'none' && { scope }), ...details });
}

/** Answers with a stream of server-sent events. */
export const EVENT_STREAM: OtherAnswer = { type: 'text/event-stream', body: 'text' };
/** Answers with a line of JSON for each piece. */
export const JSON_LINES: OtherAnswer = { type: 'application/x-ndjson', body: 'text' };

/** The id of the request that this answers, for the log. */
export function requestId(outgoing: ServerResponse): string {
  return String(outgoing.getHeader('x-request-id') ?? '');
}
