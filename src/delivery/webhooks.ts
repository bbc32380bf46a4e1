/**
 * Outbound webhooks: facts become notes in the `hook:` lane of each webhook that wants them, and are posted in order,
 * once, until the receiver accepts them. Facts whose event was lost in a crash are found in the tables.
 */
import type { LaneHandler, MessageBus, EventBus } from '../protocol/bus.ts';
import { GatewayError, toGatewayError } from '../protocol/errors.ts';
import type { AgentEvent } from '../protocol/event.ts';
import type { Log } from '../protocol/log.ts';
import {
  MAX_WAITING_NOTES,
  secretProblem,
  WEBHOOK_EVENTS,
  WEBHOOK_TRIED_MS,
  type WebhookEvent,
  webhookName,
  webhookNote,
  type WebhookNote,
  type WebhookState,
  type WebhookStore,
} from '../protocol/operator/webhooks.ts';
import type { LaneKey, LaneStore } from '../protocol/store/lanes.ts';
import { backoffMs } from '../lib/async/backoff.ts';
import { createHmac } from 'node:crypto';
import type { Egress } from '../protocol/agent/tool.ts';
import { z } from 'zod';
import { variableName } from '../protocol/settings.ts';

/** Pause after a failed post, in milliseconds: doubles from the first value up to the second. */
const RETRY_BASE_MS = 5_000;
const RETRY_CAP_MS = 60 * 60_000;
/** The tables are searched for facts without an event this often, in milliseconds. */
const SEARCH_EVERY_MS = 60_000;
/** The search ignores facts older than this, in milliseconds. */
const SEARCH_BACK_MS = 24 * 60 * 60_000;
/** More tries than fit into `WEBHOOK_TRIED_MS`: the age of a note is the limit that matters. */
const MAX_TRIES = 1_000;

export interface WebhooksDeps {
  webhooks: () => ReadonlyMap<string, Webhook>;
  store: WebhookStore;
  lanes: LaneStore;
  bus: MessageBus;
  events: EventBus;
  /** The egress policy for the address that a webhook posts to. */
  egressOf: (webhook: Webhook) => Egress;
  epochNow: () => number;
  log: Log;
}

export interface Webhooks {
  handler: LaneHandler;
  /** Starts to follow events, and looks for facts whose events were lost in a crash. */
  start(): void;
  /** The webhooks for which events are waiting. Throws only `StoreError`. */
  waiting(): Promise<WebhookState[]>;
  /** Resolves when everything received is queued. Never throws. */
  close(): Promise<void>;
}

/** Creates the module; without webhooks it does nothing. */
export function createWebhooks(deps: WebhooksDeps): Webhooks {
  // One after another, so that notes are queued in the order of their facts.
  let queued: Promise<void> = Promise.resolve();
  let timer: ReturnType<typeof setInterval> | undefined;
  let end: (() => void) | undefined;
  const enqueue = (work: () => Promise<void>): void => {
    queued = queued.then(work).catch((error: unknown) => {
      deps.log.warn({ err: toGatewayError(error) }, 'webhook_not_queued');
    });
  };
  const search = (): void => {
    if (deps.webhooks().size > 0) enqueue(() => searchFacts(deps));
  };
  return {
    handler: createHandler(deps),
    start() {
      search();
      timer = setInterval(search, SEARCH_EVERY_MS);
      timer.unref();
      end = deps.events.subscribe({}, (event) => {
        if (deps.webhooks().size > 0 && isFact(event)) enqueue(() => noteEvent(deps, event));
      });
    },
    async waiting() {
      const states: WebhookState[] = [];
      for (const name of deps.webhooks().keys()) {
        const { waiting: count } = await deps.store.laneState(laneOf(name));
        if (count > 0) states.push({ name, waiting: count, error: await deps.store.headError(laneOf(name)) });
      }
      return states;
    },
    async close() {
      clearInterval(timer);
      end?.();
      await queued;
    },
  };
}

function laneOf(name: string): LaneKey {
  return `hook:${name}`;
}

const FACTS: ReadonlySet<string> = new Set<AgentEvent['type']>([
  'message_received',
  'turn_ended',
  'approval_needed',
  'approval_decided',
]);

function isFact({ type, isSubagent }: AgentEvent): boolean {
  return FACTS.has(type) && isSubagent !== true;
}

/** Queues the note of an event, under the same id that the tables give it. */
async function noteEvent(deps: WebhooksDeps, event: AgentEvent): Promise<void> {
  const { sessionKey, at } = event;
  switch (event.type) {
    case 'turn_ended':
      await queue(deps, {
        id: `turn_ended:${event.turnId}`,
        type: 'turn_ended',
        at,
        sessionKey,
        turnId: event.turnId,
        reason: event.reason,
      });
      return;
    case 'approval_needed':
    case 'approval_decided': {
      const { approvalId, type } = event;
      const facts = await deps.store.approvalFacts(approvalId);
      if (facts === undefined) return;
      const { turnId, tool, decision } = facts;
      await queue(deps, {
        id: `${type}:${approvalId}`,
        type,
        at,
        sessionKey,
        turnId,
        approvalId,
        tool,
        decision: type === 'approval_decided' ? decision : undefined,
      });
      return;
    }
    case 'message_received': {
      const turnId = await deps.store.turnOfMessage(sessionKey, event.seq);
      const id = `message_received:${turnId}`;
      if (turnId !== undefined) await queue(deps, { id, type: 'message_received', at, sessionKey, turnId });
      return;
    }
    default:
      return;
  }
}

/** Queues what the tables contain; notes that are already queued stay unchanged. */
async function searchFacts(deps: WebhooksDeps): Promise<void> {
  let facts: WebhookNote[] | undefined;
  for (const [name, webhook] of deps.webhooks()) {
    const { isNew, since = 0 } = await deps.store.laneState(laneOf(name));
    if (isNew) {
      const at = deps.epochNow();
      await append(deps, name, { id: `webhook_added:${name}`, type: 'webhook_added', at });
      continue;
    }
    facts ??= await deps.store.recentFacts(deps.epochNow() - SEARCH_BACK_MS);
    for (const note of facts) if (note.at >= since && wants(webhook, note)) await append(deps, name, note);
  }
}

async function queue(deps: WebhooksDeps, note: WebhookNote): Promise<void> {
  for (const [name, webhook] of deps.webhooks()) if (wants(webhook, note)) await append(deps, name, note);
}

async function append(deps: WebhooksDeps, name: string, note: WebhookNote): Promise<void> {
  const { lanes, bus, store, log } = deps;
  const lane = laneOf(name);
  const { waiting: count } = await store.laneState(lane);
  if (count >= MAX_WAITING_NOTES) {
    log.warn({ webhook: name, note: note.id, waiting: count }, 'webhook_full');
    return;
  }
  bus.runHeads(await lanes.append(lane, note.id, note, bus.claimingNode('hook')));
}

function createHandler(deps: WebhooksDeps): LaneHandler {
  const { lanes, log, epochNow } = deps;
  return {
    maxAttempts: MAX_TRIES,
    async handle(head, signal) {
      const name = head.lane.slice('hook:'.length);
      const note = webhookNote.parse(head.payload);
      const webhook = deps.webhooks().get(name);
      if (webhook === undefined)
        throw new GatewayError('no_webhook', `There is no longer a webhook "${name}".`);
      try {
        await postNote(deps, webhook, note, signal);
      } catch (error) {
        signal.throwIfAborted();
        const failure = toGatewayError(error);
        if (epochNow() - note.at >= WEBHOOK_TRIED_MS)
          throw new GatewayError('webhook_given_up', `Tried for a day: ${failure.message}`, { cause: error });
        const delayMs = backoffMs(head.attempts, RETRY_BASE_MS, RETRY_CAP_MS);
        return { kind: 'retry', error: failure, delayMs };
      }
      log.info({ webhook: name, note: note.id, attempts: head.attempts }, 'webhook_posted');
      return { kind: 'finished', step: await lanes.finish(head) };
    },
    onDeadLetter: async (head, error) => await lanes.finish(head, error.message),
  };
}

/** Posts a note. Throws `GatewayError`: `webhook_refused` unless the answer is 2xx, or the errors of the egress. */
async function postNote(
  { store, egressOf, epochNow }: WebhooksDeps,
  webhook: Webhook,
  note: WebhookNote,
  signal: AbortSignal,
): Promise<void> {
  const { at, ...facts } = note;
  // JSON leaves out what is undefined.
  const content = await textOf(store, webhook, note);
  const body = { ...facts, at: new Date(at).toISOString(), content };
  const seconds = Math.floor(epochNow() / 1_000);
  const { status } = await egressOf(webhook)({
    url: webhook.url,
    signal,
    json: body,
    headers: {
      'x-parley-id': note.id,
      'x-parley-event': note.type,
      'x-parley-signature': sign(webhook.secret, seconds, JSON.stringify(body)),
    },
  });
  if (status >= 200 && status < 300) return;
  throw new GatewayError('webhook_refused', `The receiver answered ${status}.`, { retryable: true });
}

/** The form of `signed` webhooks that call the gateway: `t=<seconds>,v1=<HMAC-SHA256 of "<t>.<body>">`. */
export function sign(secret: string, seconds: number, body: string): string {
  return `t=${seconds},v1=${createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')}`;
}

/** Texts only if the operator wants them. */
async function textOf(
  store: WebhookStore,
  { content }: Webhook,
  { type, turnId }: WebhookNote,
): Promise<string | undefined> {
  if (!content || turnId === undefined) return undefined;
  const turn = await store.turnTexts(turnId);
  return type === 'message_received' ? turn?.question : type === 'turn_ended' ? turn?.answer : undefined;
}

const MAX_WEBHOOKS = 20;

const MAX_SESSIONS = 100;

const webhookRule = z.strictObject({
  url: z
    .url({ protocol: /^https?$/, error: 'must be an http or https address' })
    .max(2_048)
    .refine((url) => {
      const parsed = URL.parse(url);
      return parsed === null || (parsed.username === '' && parsed.password === '');
    }, 'must hold no user name and no password: the receiver checks the signature')
    .describe('where events are posted'),
  events: z
    .array(
      z.enum(
        WEBHOOK_EVENTS.filter((name) => name !== 'webhook_added'),
        {
          error: 'must be "message_received", "turn_ended", "approval_needed" or "approval_decided"',
        },
      ),
    )
    .min(1)
    .describe('which events: `message_received`, `turn_ended`, `approval_needed`, `approval_decided`'),
  secretEnv: variableName().describe(
    'the environment variable with the secret that posts are signed with, at least 16 characters',
  ),
  sessions: z
    .array(z.string().min(1).max(200))
    .min(1)
    .max(MAX_SESSIONS)
    .optional()
    .describe('only these sessions; `http:team-*` = all that start like this'),
  content: z.boolean().default(false).describe('post the texts of messages and answers, too'),
  private: z
    .boolean()
    .default(false)
    .describe('the address may be on this machine or in a private network, and have any port'),
});

/** `webhooks` in `config.json`. */
export const webhooksRule = z
  .record(webhookName, webhookRule)
  .refine((webhooks) => Object.keys(webhooks).length <= MAX_WEBHOOKS, `at most ${MAX_WEBHOOKS} webhooks`)
  .default({});

/** One webhook with its secret. */
export interface Webhook extends Omit<z.output<typeof webhookRule>, 'secretEnv' | 'events'> {
  events: readonly WebhookEvent[];
  secret: string;
}

/** The webhooks by name. `errors` are sentences that begin with the field; none repeats a value. */
export function configureWebhooks(
  file: z.output<typeof webhooksRule>,
  env: Readonly<Record<string, string | undefined>>,
): { webhooks: ReadonlyMap<string, Webhook>; errors: string[] } {
  const webhooks = new Map<string, Webhook>();
  const errors: string[] = [];
  for (const [name, { secretEnv, ...rest }] of Object.entries(file)) {
    const secret = env[secretEnv];
    const problem = secretProblem(`webhooks.${name}.secretEnv`, secretEnv, secret);
    if (problem !== undefined) errors.push(problem);
    else if (secret !== undefined) webhooks.set(name, { ...rest, secret });
  }
  return { webhooks, errors };
}

/** Whether the webhook is notified of this; always true for `webhook_added`. */
export function wants(
  { events, sessions }: { events: readonly WebhookEvent[]; sessions?: readonly string[] | undefined },
  { type, sessionKey = '' }: { type: WebhookEvent; sessionKey?: string | undefined },
): boolean {
  if (type === 'webhook_added') return true;
  if (!events.includes(type)) return false;
  return (
    sessions === undefined ||
    sessions.some((name) =>
      name.endsWith('*') ? sessionKey.startsWith(name.slice(0, -1)) : name === sessionKey,
    )
  );
}
