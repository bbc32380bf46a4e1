/** One route of the HTTP API, and the arguments of its handler. */
import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Caller, Scope } from '../../src/protocol/access.ts';
import type { GatewayApi } from '../../src/protocol/gateway-api.ts';
import type { PageLanguages } from '../../src/protocol/texts/languages.ts';
import type { Log } from '../../src/protocol/log.ts';
import type { Receive } from '../../src/protocol/receive.ts';
import type { AnsweredTurns } from './client-retries.ts';
import type { KeptCompletions } from './kept-completions.ts';
import type { OpenStreams } from './open-streams.ts';
import type { LargeBodies } from './limits/large-bodies.ts';
import type { WrongTokens } from './limits/wrong-tokens.ts';
import type { TokenLimits } from './limits/token-limits.ts';

/** Dependencies of the handlers. */
export interface HandlerDeps {
  log: Log;
  gateway: GatewayApi;
  languages: PageLanguages;
  receive: Receive;
  streams: OpenStreams;
  /** Completions without a session, kept under their `Idempotency-Key`. */
  completions: KeptCompletions;
  /** Turns whose answer has reached a client. */
  answered: AnsweredTurns;
  limits: TokenLimits;
  largeBodies: LargeBodies;
  wrongTokens: WrongTokens;
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

/** Answers one request. What it throws becomes an error answer, unless something was sent already. */
export type Handler = (c: HttpContext, deps: HandlerDeps) => Response | Promise<Response>;

/**
 * An entry of the table of routes; without `scope` no token is needed, with `tokenOptional` one that is sent must be valid;
 * with `ticket` a ticket in the address may stand for it.
 */
export interface Route {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  scope?: Scope;
  tokenOptional?: true;
  ticket?: true;
  handle: Handler;
}

/** The id of the request that this answers, for the log. */
export function requestId(outgoing: ServerResponse): string {
  return String(outgoing.getHeader('x-request-id') ?? '');
}
