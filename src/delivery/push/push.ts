/**
 * Notifications of browsers: facts become notes in the `push:` lane of each browser that wants them, and are sent in
 * order. A crash between a push and its record sends it a second time, under the same topic and tag, so that the browser
 * shows it once. Facts whose event was lost in a crash are found in the tables.
 */
import type { LaneHandler, MessageBus, EventBus } from '../../protocol/bus.ts';
import { GatewayError, toGatewayError } from '../../protocol/errors.ts';
import type { Log } from '../../protocol/log.ts';
import {
  MAX_PUSH_ENDPOINT,
  MAX_WAITING_PUSHES,
  type PushApi,
  type PushFacts,
  pushNote,
  type PushNote,
  type PushStore,
  type PushTarget,
} from '../../protocol/operator/push.ts';
import type { LaneHead, LaneKey, LaneStore } from '../../protocol/store/lanes.ts';
import type { ChoiceStore } from '../../protocol/store/records.ts';
import { type PageLanguages, sayToPerson } from '../../protocol/texts/languages.ts';
import { textRef } from '../../protocol/texts/say.ts';
import { backoffMs } from '../../lib/async/backoff.ts';
import { createHash } from 'node:crypto';
import type { Egress } from '../../protocol/agent/tool.ts';
import { encryptPush, newPushKey, publicPart, type PushKey, readKeys, vapidHeader } from './encryption.ts';

/** Pause after a failed push, in milliseconds: doubles from the first value up to the second. */
const RETRY_BASE_MS = 5_000;
const RETRY_CAP_MS = 10 * 60_000;
const MAX_TRIES = 200;
/** How long a note is worth a notification, in milliseconds: questions expire. */
export const WORTH_MS = { turn_ended: 24 * 60 * 60_000, approval_needed: 60 * 60_000 } as const;
/** The tables are searched for facts without an event this often, and that far back, in milliseconds. */
const SEARCH_EVERY_MS = 60_000;
const SEARCH_BACK_MS = 60 * 60_000;
/** The name under which all nodes share the key. */
const KEY_CHOICE = 'push_key';
/** A push service answers so when a browser no longer wants anything (RFC 8030, 7.3), or never did. */
const GONE = new Set([404, 410]);
/** What is worth another try: too many pushes, or the service's own trouble. */
const isPassing = (status: number): boolean => status === 429 || status >= 500;

export interface PushDeps {
  store: { push: PushStore; lanes: LaneStore; choices: ChoiceStore };
  bus: MessageBus;
  events: EventBus;
  languages: PageLanguages;
  /** The guard of outgoing requests, for posts to an address. */
  egressOf: (address: string) => Egress;
  epochNow: () => number;
  log: Log;
}

export interface Push {
  api: PushApi;
  handler: LaneHandler;
  /** Starts to follow events, and looks for facts whose events were lost in a crash. */
  start(): void;
  /** Resolves when everything received is queued. Never throws. */
  close(): Promise<void>;
}

/** Creates the module; without subscriptions it does nothing. */
export function createPush(deps: PushDeps): Push {
  const { store, events, epochNow } = deps;
  let key: Promise<PushKey> | undefined;
  const readKey = (): Promise<PushKey> => {
    key ??= pushKey(store.choices).catch((error: unknown) => {
      key = undefined;
      throw error;
    });
    return key;
  };
  // Another node's subscriptions are noticed with the next search, which finds what was due for them.
  let hasTargets = false;
  let queued: Promise<void> = Promise.resolve();
  let timer: ReturnType<typeof setInterval> | undefined;
  let end: (() => void) | undefined;
  const enqueue = (of: PushFacts): void => {
    queued = queued
      .then(() => queueNotes(deps, of))
      .catch((error: unknown) => deps.log.warn({ err: toGatewayError(error) }, 'push_not_queued'));
  };
  const search = async (): Promise<void> => {
    // While the database cannot be reached, what was known still holds; the next search asks again.
    hasTargets = await store.push.hasTargets().catch(() => hasTargets);
    if (hasTargets) enqueue({ since: epochNow() - SEARCH_BACK_MS });
  };
  return {
    api: createApi(deps, readKey, () => (hasTargets = true)),
    handler: createHandler(deps, readKey),
    start() {
      void search();
      timer = setInterval(() => void search(), SEARCH_EVERY_MS);
      timer.unref();
      end = events.subscribe({}, ({ type, turnId, isSubagent }) => {
        const isFact = type === 'turn_ended' || type === 'approval_needed';
        if (hasTargets && isFact && isSubagent !== true && turnId !== undefined) enqueue({ turnId });
      });
    },
    async close() {
      clearInterval(timer);
      end?.();
      await queued;
    },
  };
}

/** The key of all nodes; the first one makes it. It says who sends, and opens nothing. */
async function pushKey(choices: ChoiceStore): Promise<PushKey> {
  const text =
    (await choices.chosen(KEY_CHOICE)) ?? (await choices.choose(KEY_CHOICE, newPushKey(), undefined));
  const key: PushKey = JSON.parse(text);
  return key;
}

function createApi(
  { store: { push } }: PushDeps,
  readKey: () => Promise<PushKey>,
  added: () => void,
): PushApi {
  return {
    publicKey: async () => publicPart(await readKey()),
    browsers: async ({ tokenId }) => await push.browsers(tokenId),
    async subscribe({ tokenId }, { endpoint, keys }, { client, origin }) {
      const url = URL.parse(endpoint);
      const isAddress = url?.protocol === 'https:' && url.username === '' && url.password === '';
      if (!isAddress || endpoint.length > MAX_PUSH_ENDPOINT)
        throw new GatewayError(
          'bad_subscription',
          'The endpoint must be an https address of a push service.',
        );
      readKeys(keys);
      const id = createHash('sha256').update(`${tokenId} ${endpoint}`).digest('hex').slice(0, 32);
      const contact = origin?.startsWith('https://') === true ? origin : undefined;
      if (!(await push.addTarget({ id, tokenId, endpoint, keys, contact }, client)))
        throw new GatewayError('too_many_subscriptions', textRef('push.too_many'));
      added();
      return id;
    },
    unsubscribe: async ({ tokenId }, id) => await push.removeTarget(id, tokenId),
  };
}

function laneOf(target: string): LaneKey {
  return `push:${target}`;
}

async function queueNotes({ store: { push, lanes }, bus, log }: PushDeps, of: PushFacts): Promise<void> {
  for (const { target, note, isFull } of await push.dueNotes(of)) {
    if (isFull) log.warn({ target, note: note.id, waiting: MAX_WAITING_PUSHES }, 'push_full');
    else bus.runHeads(await lanes.append(laneOf(target), note.id, note, bus.claimingNode('push')));
  }
}

function createHandler(deps: PushDeps, readKey: () => Promise<PushKey>): LaneHandler {
  const { store, log, epochNow } = deps;
  const finish = async (head: LaneHead, outcome: string): ReturnType<LaneHandler['handle']> => {
    log.info({ target: head.lane.slice('push:'.length), attempts: head.attempts, outcome }, 'push_ended');
    return { kind: 'finished', step: await store.lanes.finish(head) };
  };
  return {
    maxAttempts: MAX_TRIES,
    async handle(head, signal) {
      const note = pushNote.parse(head.payload);
      const target = await store.push.target(head.lane.slice('push:'.length));
      if (target === undefined) return await finish(head, 'unsubscribed');
      if (epochNow() - note.at > WORTH_MS[note.type]) return await finish(head, 'outdated');
      const isQuestion = note.type === 'approval_needed';
      if (isQuestion && !(await store.push.isPending(note.subject))) return await finish(head, 'decided');
      const attempt = await send(deps, { target, note, key: await readKey(), signal }).catch(toGatewayError);
      signal.throwIfAborted();
      if (typeof attempt === 'number' && attempt >= 200 && attempt < 300) return await finish(head, 'sent');
      if (typeof attempt === 'number' && GONE.has(attempt)) {
        await store.push.removeTarget(target.id);
        return await finish(head, 'unsubscribed');
      }
      const failure =
        typeof attempt === 'number'
          ? new GatewayError('push_refused', `The push service answered ${attempt}.`, {
              retryable: isPassing(attempt),
            })
          : attempt;
      if (!failure.retryable) throw failure;
      const delayMs = backoffMs(head.attempts, RETRY_BASE_MS, RETRY_CAP_MS);
      return { kind: 'retry', error: failure, delayMs };
    },
    onDeadLetter: async (head, error) => await store.lanes.finish(head, error.message),
  };
}

/** Sends a note; returns the status of the answer. Throws the errors of the egress. */
async function send(
  { languages, egressOf, epochNow }: PushDeps,
  { target, note, key, signal }: { target: PushTarget; note: PushNote; key: PushKey; signal: AbortSignal },
): Promise<number> {
  const say = await sayToPerson(languages, `token:${target.tokenId}`);
  const isQuestion = note.type === 'approval_needed';
  // No title of a chat and no tool: a notification is read over one's shoulder.
  const text = JSON.stringify({
    title: 'Parley',
    body: say(isQuestion ? 'push.question' : 'push.answer'),
    tag: note.id,
    url: `/#${encodeURIComponent(note.sessionKey)}`,
  });
  const { origin } = new URL(target.endpoint);
  const seconds = Math.max(0, Math.floor((note.at + WORTH_MS[note.type] - epochNow()) / 1_000));
  const { status } = await egressOf(target.endpoint)({
    url: target.endpoint,
    signal,
    bytes: encryptPush(text, target.keys),
    headers: {
      'content-type': 'application/octet-stream',
      'content-encoding': 'aes128gcm',
      authorization: vapidHeader(key, { origin, contact: target.contact, now: epochNow() }),
      ttl: String(seconds),
      urgency: isQuestion ? 'high' : 'normal',
      // A repeat replaces what the service still holds (RFC 8030, 5.4).
      topic: createHash('sha256').update(note.id).digest('base64url').slice(0, 32),
    },
  });
  return status;
}
