/** `/a2a`: the bot as an agent of the Agent2Agent protocol, version 1.0, over JSON-RPC. Its tasks are turns. */
import { createHash } from 'node:crypto';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { z } from 'zod';
import type { Caller } from '../../../src/protocol/access.ts';
import { newId } from '../../../src/lib/ids.ts';
import { isHttpSessionId } from '../../../src/protocol/message.ts';
import { parseShape } from '../body.ts';
import { requireScope } from '../authenticator.ts';
import { callerReader, HttpError, toHttpError } from '../errors.ts';
import { disconnectSignal } from '../model-apis/answer.ts';
import { wantedLanguages } from '../inbound.ts';
import {
  EVENT_STREAM,
  type HandlerDeps,
  type HttpContext,
  requestId,
  type Route,
  routeOf,
} from '../route.ts';
import { acceptPosted } from '../routes/messages.ts';
import { TurnFeed } from '../turn-feed.ts';
import {
  type AgentMessage,
  decisionOf,
  type RequestId,
  rpcRequest,
  sendParams,
  taskParams,
  textOf,
} from './messages.ts';
import {
  approvalOf,
  contextOf,
  followTask,
  hasEnded,
  type Task,
  taskOf,
  type TaskTurn,
  turnOfTask,
} from './tasks.ts';

const PROTOCOL_VERSION = '1.0';
/** Longest wait for the end of a task that was canceled, in milliseconds. */
const CANCEL_MS = 5_000;

/** The protocol's codes of errors, by those of the gateway; others of the caller are -32602, those of the gateway -32603. */
const CODES: Readonly<Record<string, number>> = {
  method_not_found: -32_601,
  task_not_found: -32_001,
  task_not_cancelable: -32_002,
  push_not_supported: -32_003,
  unsupported_operation: -32_004,
  content_type_not_supported: -32_005,
  version_not_supported: -32_009,
};

interface Call {
  c: HttpContext;
  deps: HandlerDeps;
  caller: Caller;
  id: RequestId;
  params: Record<string, unknown>;
}

const METHODS: Readonly<Record<string, (call: Call) => Promise<Response>>> = {
  SendMessage: send,
  SendStreamingMessage: sendStreaming,
  GetTask: getTask,
  CancelTask: cancelTask,
  SubscribeToTask: subscribe,
};

const route = routeOf('gateway');

export const a2aRoutes: readonly Route[] = [
  route('GET', '/.well-known/agent-card.json', 'none', {
    summary: 'The card of the bot for other agents',
    description:
      'Of the Agent2Agent protocol; needs no token. 404 unless `channels.http.a2a.enabled` is set.',
    answer: z.looseObject({ name: z.string() }),
    handle(c, deps) {
      requireOn(deps);
      return c.json(cardOf(c, deps));
    },
  }),
  route('POST', '/a2a', 'chat', {
    summary: 'The bot as an agent for other agents: one request of the Agent2Agent protocol 1.0',
    description:
      'JSON-RPC: `SendMessage`, `SendStreamingMessage`, `GetTask`, `CancelTask`, `SubscribeToTask`. A task is a turn, a context is a session, and a repeated `messageId` is no second message. Errors are those of JSON-RPC. 404 unless `channels.http.a2a.enabled` is set.',
    body: rpcRequest,
    others: [EVENT_STREAM],
    async handle(c, deps, read) {
      requireOn(deps);
      const { id, method, params } = await read();
      try {
        const version = c.req.header('a2a-version') ?? PROTOCOL_VERSION;
        if (version !== PROTOCOL_VERSION)
          throw new HttpError(400, 'version_not_supported', `This agent speaks version ${PROTOCOL_VERSION}.`);
        const run = Object.hasOwn(METHODS, method) ? METHODS[method] : undefined;
        if (run === undefined)
          throw new HttpError(400, 'method_not_found', `There is no method "${method}" here.`);
        return await run({ c, deps, caller: c.get('caller'), id, params });
      } catch (error) {
        return c.json({ jsonrpc: '2.0', id, error: rpcError(c, deps, error) });
      }
    },
  }),
];

function requireOn({ a2a }: HandlerDeps): void {
  if (!a2a.enabled) throw new HttpError(404, 'not_found', 'channels.http.a2a.enabled is not set.');
}

function originOf(c: HttpContext, { a2a }: HandlerDeps): string {
  return a2a.url ?? new URL(c.req.url).origin;
}

function cardOf(c: HttpContext, deps: HandlerDeps): object {
  const { name, description } = deps.a2a;
  return {
    name,
    description,
    version: PROTOCOL_VERSION,
    supportedInterfaces: [
      { url: `${originOf(c, deps)}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: PROTOCOL_VERSION },
    ],
    capabilities: { streaming: true, pushNotifications: false },
    securitySchemes: { token: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
    securityRequirements: [{ schemes: { token: { list: [] } } }],
    defaultInputModes: ['text/plain', 'application/json'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'chat', name: 'Chat', description, tags: ['chat'] }],
  };
}

/** Sends a message, and answers when its task has ended or waits, or at once. */
async function send(call: Call): Promise<Response> {
  const { c, deps, caller, id, params } = call;
  const { message, configuration } = parseShape(params, sendParams, 'params');
  const begun = await begin(call, message);
  if ('reply' in begun) return result(c, id, { message: begun.reply });
  const { feed, turn } = begun;
  const signal = disconnectSignal(c.env.outgoing);
  if (configuration.returnImmediately) feed.close();
  else await followTask(deps, caller, feed, turn, () => undefined, signal);
  return result(c, id, { task: await taskOf(deps, caller, turn, originOf(c, deps)) });
}

async function sendStreaming(call: Call): Promise<Response> {
  const { message } = parseShape(call.params, sendParams, 'params');
  const begun = await begin(call, message);
  if (!('reply' in begun)) return await stream(call, begun);
  const { outgoing, incoming } = call.c.env;
  const owner = { caller: call.caller, authorization: incoming.headers.authorization ?? '' };
  const events = call.deps.streams.add(owner, outgoing);
  events.write(frame(call.id, { message: begun.reply }));
  events.end();
  return RESPONSE_ALREADY_SENT;
}

async function getTask({ c, deps, caller, id, params }: Call): Promise<Response> {
  const turn = await turnOfTask(deps, caller, parseShape(params, taskParams, 'params').id);
  return result(c, id, await taskOf(deps, caller, turn, originOf(c, deps)));
}

/** Stops the session of the task: what waits there behind it is dropped, too. */
async function cancelTask({ c, deps, caller, id, params }: Call): Promise<Response> {
  const turn = await turnOfTask(deps, caller, parseShape(params, taskParams, 'params').id);
  const before = await taskOf(deps, caller, turn, originOf(c, deps));
  if (hasEnded(before)) throw new HttpError(409, 'task_not_cancelable', 'This task has ended.');
  const feed = new TurnFeed(deps.gateway, turn.session);
  await deps.gateway.stop(caller, turn.session);
  const signal = AbortSignal.any([disconnectSignal(c.env.outgoing), AbortSignal.timeout(CANCEL_MS)]);
  await followTask(deps, caller, feed, turn, () => undefined, signal);
  return result(c, id, await taskOf(deps, caller, turn, originOf(c, deps)));
}

async function subscribe(call: Call): Promise<Response> {
  const { deps, caller, params, c } = call;
  const turn = await turnOfTask(deps, caller, parseShape(params, taskParams, 'params').id);
  const feed = new TurnFeed(deps.gateway, turn.session);
  const task = await taskOf(deps, caller, turn, originOf(c, deps));
  if (!hasEnded(task)) return await stream(call, { feed, turn });
  feed.close();
  throw new HttpError(409, 'unsupported_operation', 'This task has ended: GetTask has its result.');
}

/** A reply without a task, such as that of a command, or the turn of a message with its feed. */
type Begun = { reply: object } | { feed: TurnFeed; turn: TaskTurn };

/** Commits a message: a new one of a context, or the answer that a task waits for. */
async function begin(call: Call, message: AgentMessage): Promise<Begun> {
  const { c, deps, caller } = call;
  if (message.taskId !== '') return await answerTask(call, message);
  const contextId = message.contextId === '' ? newContext(caller, message) : message.contextId;
  if (!isHttpSessionId(contextId))
    throw new HttpError(
      400,
      'bad_context',
      'A contextId has 1 to 64 of the characters A-Z, a-z, 0-9, _ and -.',
    );
  const session = `http:${contextId}` as const;
  const feed = new TurnFeed(deps.gateway, session);
  c.env.outgoing.once('close', () => feed.close());
  const posted = {
    id: contextId,
    key: message.messageId,
    content: textOf(message),
    files: [],
    user: undefined,
  };
  const answer = await acceptPosted(deps, caller, { ...posted, language: wantedLanguages(c.env.incoming) });
  if (!('handled' in answer)) return { feed, turn: { turnId: answer.turnId, session, replay: true } };
  feed.close();
  const parts = [{ text: answer.reply ?? '' }];
  return { reply: { messageId: newId(), contextId, role: 'ROLE_AGENT', parts } };
}

/** A context of its own for a message that names none: the same one when it is repeated. */
function newContext({ tokenId }: Caller, { messageId }: AgentMessage): string {
  return `a2a-${createHash('sha256').update(`${tokenId} ${messageId}`).digest('hex').slice(0, 32)}`;
}

/** Decides what the task waits for, and goes on with it. */
async function answerTask({ c, deps, caller }: Call, message: AgentMessage): Promise<Begun> {
  requireScope(caller, 'approve');
  const turn = await turnOfTask(deps, caller, message.taskId);
  if (message.contextId !== '' && message.contextId !== contextOf(turn.session))
    throw new HttpError(400, 'bad_context', 'The task belongs to another context.');
  const approval = await approvalOf(deps, caller, turn.turnId);
  if (approval === undefined)
    throw new HttpError(
      409,
      'unsupported_operation',
      'This task waits for nothing: write to its context instead.',
    );
  const { decision, ...detail } = decisionOf(message);
  const feed = new TurnFeed(deps.gateway, turn.session);
  c.env.outgoing.once('close', () => feed.close());
  const outcome = await deps.gateway.decide(caller, approval.id, decision, detail);
  if (outcome.kind !== 'decided') {
    feed.close();
    throw new HttpError(409, 'unsupported_operation', 'Someone else has decided already.');
  }
  return { feed, turn };
}

/** Writes the task, its text while it grows, its artifacts as they are stored, and its last state. */
async function stream(
  { c, deps, caller, id }: Call,
  { feed, turn }: { feed: TurnFeed; turn: TaskTurn },
): Promise<Response> {
  const { incoming, outgoing } = c.env;
  const origin = originOf(c, deps);
  const first = await taskOf(deps, caller, turn, origin);
  const events = deps.streams.add({ caller, authorization: incoming.headers.authorization ?? '' }, outgoing);
  events.write(frame(id, { task: first }));
  const about = { taskId: turn.turnId, contextId: contextOf(turn.session) };
  const signal = disconnectSignal(outgoing);
  let isFirst = true;
  const grow = (text: string): void => {
    const artifact = { artifactId: turn.turnId, name: 'answer', parts: [{ text }] };
    events.write(frame(id, { artifactUpdate: { ...about, artifact, append: !isFirst } }));
    isFirst = false;
  };
  await followTask(deps, caller, feed, turn, grow, signal);
  if (signal.aborted) return RESPONSE_ALREADY_SENT;
  try {
    const last = await taskOf(deps, caller, turn, origin);
    for (const artifact of hasEnded(last) ? last.artifacts : [])
      events.write(frame(id, { artifactUpdate: { ...about, artifact, append: false, lastChunk: true } }));
    events.write(frame(id, { statusUpdate: { ...about, status: last.status } }));
  } catch (error) {
    events.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id, error: rpcError(c, deps, error) })}\n\n`);
  }
  events.end();
  return RESPONSE_ALREADY_SENT;
}

function frame(id: RequestId, value: object): string {
  return `data: ${JSON.stringify({ jsonrpc: '2.0', id, result: value })}\n\n`;
}

function result(c: HttpContext, id: RequestId, value: object | Task): Response {
  return c.json({ jsonrpc: '2.0', id, result: value });
}

function rpcError(
  c: HttpContext,
  { log }: HandlerDeps,
  error: unknown,
): { code: number; message: string; data: unknown } {
  const httpError = toHttpError(error, callerReader(c.get('caller')));
  if (httpError.status === 500)
    log.error({ err: httpError.cause ?? httpError, requestId: requestId(c.env.outgoing) }, 'a2a_call_failed');
  const { code, message, status } = httpError;
  return { code: CODES[code] ?? (status < 500 ? -32_602 : -32_603), message, data: { code } };
}
