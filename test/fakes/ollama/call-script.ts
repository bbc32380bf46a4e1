/** What a test controls of a fake model server: the scripted answers, and the calls that arrived. */
import type { ServerResponse } from 'node:http';
import { TITLE_REQUEST } from '../../../src/agent/after-turn/title-worker.ts';
import type { Answer } from './reply.ts';
import type { ChatBody } from './request.ts';

/** The default title of every session. */
export const FAKE_TITLE = 'A short talk';

/** How many past calls the fake remembers; the oldest are forgotten. */
export const MAX_KEPT_CALLS = 5_000;

/** One chat request that passed the checks. */
export interface FakeCall<Body = ChatBody> {
  readonly body: Body;
  /** `performance.now()` when the whole request had arrived. */
  readonly arrivedAt: number;
  /** Messages silently dropped because `truncate` was not false. */
  dropped: number;
  /** Tokens of the prompt that were not in the server's cache, if it has one slot. */
  prefilled: number | undefined;
  /** Ends one `hold`, `hang` or `linger`: the one that lasts, else the next one. */
  release(): void;
  /** Bytes of the answer that the connection has not yet accepted: the reader is slow. */
  unsent(): number;
  /** When the connection or the answer ended (`performance.now()`), and who ended it. */
  readonly closed: Promise<{ by: 'client' | 'server'; at: number }>;
}

/** Which requests an answer is for: part of the last user message, a pattern for it, or a test of the body. */
export type When<Body = ChatBody> = string | RegExp | ((body: Body) => boolean);

export interface FakeControls<Body = ChatBody, Given = Answer> {
  /** Queues an answer for the next matching call; `times` defaults to 1. The first match is used. */
  answer(answer: Given, match?: { when?: When<Body>; times?: number }): void;
  /** The calls so far, oldest first; without those for titles of sessions, which arrive at any time after an answer. */
  readonly calls: readonly FakeCall<Body>[];
  /** The calls for titles. They get `FAKE_TITLE`, unless an answer is queued whose `when` is `TITLE_REQUEST`. */
  readonly titleCalls: readonly FakeCall<Body>[];
  /** Resolves with the next call that this function has not returned yet. */
  nextCall(): Promise<FakeCall<Body>>;
}

/** The same script as the server uses it: chooses answers and records calls. */
export interface CallScript<Body = ChatBody, Given = Answer> extends FakeControls<Body, Given> {
  choose(body: Body): Given;
  record(body: Body, response: ServerResponse): RecordedCall<Body>;
}

export interface RecordedCall<Body = ChatBody> extends FakeCall<Body> {
  /** Resolves at the next release, or when the connection closes. */
  released(): Promise<void>;
  /** Kills the connection from the server's side. */
  cut(): void;
}

/** Creates an empty script; `userText` reads the last user message of a request. */
export function createCallScript<Body, Given>(
  { fallback, title }: { fallback: Given; title: Given },
  userText: (body: Body) => string,
): CallScript<Body, Given> {
  const answers: { answer: Given; when: When<Body> | undefined; left: number }[] = [];
  const calls: FakeCall<Body>[] = [];
  const titleCalls: FakeCall<Body>[] = [];
  let given = 0;
  let arrived = Promise.withResolvers<void>();
  return {
    calls,
    titleCalls,
    answer: (answer, match = {}) => void answers.push({ answer, when: match.when, left: match.times ?? 1 }),
    choose(body) {
      const isTitle = userText(body) === TITLE_REQUEST;
      const fits = (when: When<Body> | undefined): boolean =>
        isTitle ? when === TITLE_REQUEST : matches(when, body, userText);
      const index = answers.findIndex(({ when }) => fits(when));
      const entry = answers[index];
      if (entry === undefined) return isTitle ? title : fallback;
      entry.left -= 1;
      if (entry.left <= 0) answers.splice(index, 1);
      return entry.answer;
    },
    record(body, response) {
      const call = watch(body, response);
      if (userText(body) === TITLE_REQUEST) {
        titleCalls.push(call);
        return call;
      }
      calls.push(call);
      if (calls.length > MAX_KEPT_CALLS) {
        calls.shift();
        given = Math.max(0, given - 1);
      }
      arrived.resolve();
      arrived = Promise.withResolvers();
      return call;
    },
    async nextCall() {
      while (calls.length <= given) await arrived.promise;
      given += 1;
      return calls[given - 1]!;
    },
  };
}

function watch<Body>(body: Body, response: ServerResponse): RecordedCall<Body> {
  const releases: (() => void)[] = [];
  let early = 0;
  let isOver = false;
  const closed = Promise.withResolvers<{ by: 'client' | 'server'; at: number }>();
  let cut = false;
  response.once('close', () => {
    const by = cut || response.writableFinished ? 'server' : 'client';
    closed.resolve({ by, at: performance.now() });
    isOver = true;
    for (const release of releases.splice(0)) release();
  });
  return {
    body,
    arrivedAt: performance.now(),
    dropped: 0,
    prefilled: undefined,
    release() {
      const release = releases.shift();
      if (release === undefined) early += 1;
      else release();
    },
    unsent: () => response.writableLength,
    closed: closed.promise,
    async released() {
      if (isOver) return;
      if (early === 0) await new Promise<void>((resolve) => void releases.push(resolve));
      else early -= 1;
    },
    cut() {
      cut = true;
      response.socket?.destroy();
    },
  };
}

function matches<Body>(when: When<Body> | undefined, body: Body, userText: (body: Body) => string): boolean {
  if (when === undefined) return true;
  if (typeof when === 'function') return when(body);
  const said = userText(body);
  return typeof when === 'string' ? said.includes(when) : when.test(said);
}
