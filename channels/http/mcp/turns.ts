/** The tools whose answer is that of a turn: a message to the bot, and a question to a person. Both survive the gateway's end. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { type Caller, hasScope } from '../../../src/protocol/access.ts';
import { MAX_QUESTION_CHARS } from '../../../src/protocol/agent/approvals.ts';
import { FIRST_EVENT_ID } from '../../../src/protocol/event.ts';
import type { OfferedResult } from '../../../src/protocol/mcp-offer.ts';
import type { SessionKey } from '../../../src/protocol/message.ts';
import type { TurnStatus } from '../../../src/protocol/sessions/session-list.ts';
import { PARLEY } from '../../../src/protocol/texts/parley.ts';
import { newId } from '../../../src/lib/ids.ts';
import { cleanText } from '../../../src/lib/text.ts';
import { parseShape } from '../body.ts';
import { HttpError } from '../errors.ts';
import { postableId, readableKey, refusal, toInbound, wantedLanguages } from '../inbound.ts';
import type { HandlerDeps, HttpContext } from '../route.ts';
import { acceptPosted } from '../routes/messages.ts';
import type { TurnFeed } from '../turn-feed.ts';
import { callKey, sessionKey, type ToolRecord } from './tools.ts';

/** How long a call waits for its answer unless it says otherwise, in seconds: many clients give up after 60. */
export const USUAL_WAIT_S = 50;
/** The longest time it may wait, in seconds. */
export const MAX_WAIT_S = 86_400;

/** Shows a line to whoever waits. */
type Progress = (text: string) => void;

/** Time between two lines of progress while there is news, and while there is none, in milliseconds. */
const NEWS_MS = 1_000;
const SILENCE_MS = 10_000;
/** Longest line, in UTF-16 units: the newest text counts. */
const MAX_LINE = 500;

const waitSeconds = z
  .int()
  .min(0)
  .max(MAX_WAIT_S)
  .default(USUAL_WAIT_S)
  .describe('How long this call waits for the answer. If it takes longer, call again with the same key.');

const MESSAGE = z.strictObject({
  session: sessionKey
    .default('http:mcp')
    .describe('Which conversation, such as http:work; one of a new name begins a new conversation.'),
  content: z.string().min(1),
  key: callKey.optional(),
  model: z.string().min(1).optional().describe('A model or profile for this message only.'),
  waitSeconds,
});

const QUESTION = z.strictObject({
  key: z
    .string()
    .trim()
    .min(1)
    .max(200)
    .describe(
      'A name you choose for this question, such as deploy-42. A call under the same key asks nobody again: it gets the same answer.',
    ),
  question: z
    .string()
    .trim()
    .min(1)
    .max(MAX_QUESTION_CHARS)
    .describe('Everything they need to know: they see nothing of your conversation.'),
  to: z
    .string()
    .trim()
    .min(1)
    .max(300)
    .optional()
    .describe(
      'The name of a person who has written to the bot, or the address of their chat. Without it, the owner of the bot.',
    ),
  session: sessionKey
    .optional()
    .describe('Ask the person whose private chat shares this session of yours; needs no scope `admin`.'),
  waitSeconds,
});

/** What a call has begun: its turn, or an answer at once. */
export interface BegunTurn {
  tool: string;
  turnId: string;
  /** Under what a further call waits on for the answer. */
  key: string;
  /** Accepted by an earlier call: its events may be over. */
  repeated: boolean;
}

/** A call with valid arguments. */
interface TurnCall {
  /** The session whose events are followed. */
  session: SessionKey;
  waitSeconds: number;
  /** Commits the message. Throws `HttpError` and other `GatewayError`s. */
  begin(c: HttpContext, deps: HandlerDeps): Promise<BegunTurn | OfferedResult>;
}

/** A tool whose call begins a turn. */
export interface TurnTool extends ToolRecord {
  /** Checks the arguments. Throws `HttpError` 400. */
  prepare(args: unknown, caller: Caller): TurnCall;
  /** The result of a turn that has ended, or that the call no longer waits for. */
  resultOf(status: TurnStatus, begun: Pick<BegunTurn, 'turnId' | 'key'>): OfferedResult;
}

const sendMessage: TurnTool = {
  name: 'send_message',
  title: 'Send a message to the bot',
  description: 'Writes to the bot in a conversation, and waits for its answer.',
  scope: 'chat',
  args: MESSAGE,
  writes: { outside: true },
  prepare(args, caller) {
    const { waitSeconds, session, key = newId(), content, model } = parseShape(args, MESSAGE, 'arguments');
    const id = postableId(session);
    return {
      session: `http:${id}`,
      waitSeconds,
      async begin(c, deps) {
        const language = wantedLanguages(c.env.incoming);
        const message = { id, key, content, files: [], user: undefined, model, language };
        const answer = await acceptPosted(deps, caller, message);
        if ('handled' in answer) return { text: answer.reply ?? '' };
        const { turnId, lastEventId } = answer;
        return { tool: sendMessage.name, turnId, key, repeated: lastEventId === FIRST_EVENT_ID };
      },
    };
  },
  resultOf({ state, reason, final }, { turnId, key }) {
    if (state !== 'done') {
      const reasonToWait =
        state === 'parked' ? ' It waits for a person: list_approvals may say for what.' : '';
      const text = `No answer yet.${reasonToWait} ${again(sendMessage.name, key)}`;
      return { text, fields: { state: 'waiting', turnId, key } };
    }
    const isError = final?.isError === true;
    return { text: final?.content ?? '', fields: { state: 'answered', reason, turnId, key }, isError };
  },
};

const askPerson: TurnTool = {
  name: 'ask_person',
  title: 'Ask a person',
  description:
    'Asks a person in their private chat with the bot, and waits for the answer, which may take hours and ' +
    'survives restarts. Only for what they alone can say. They see who asks, and may refuse.',
  scope: 'chat',
  args: QUESTION,
  writes: { repeatable: true, outside: true },
  prepare(args, caller) {
    const { waitSeconds, ...request } = parseShape(args, QUESTION, 'arguments');
    const session = questionSession(caller, request.key);
    return {
      session,
      waitSeconds,
      begin: (c, deps) => beginQuestion(c, deps, session, request),
    };
  },
  resultOf({ state, reason, final }, { turnId, key }) {
    if (state !== 'done') {
      const text = `They have been asked, and have not answered yet. ${again(askPerson.name, key)}`;
      return { text, fields: { state: 'waiting', turnId, key } };
    }
    const text = final?.content ?? '';
    const at = final?.createdAt.toISOString();
    if (reason === 'completed' && final?.isError === false)
      return { text, fields: { state: 'answered', answer: text, at, turnId, key } };
    return { text, fields: { state: 'unanswered', why: text, at, turnId, key } };
  },
};

/** Has the person asked in a conversation of its own, so that no question waits for the answer to another one. */
async function beginQuestion(
  c: HttpContext,
  { gateway, receive }: HandlerDeps,
  ownSession: SessionKey,
  request: Omit<z.output<typeof QUESTION>, 'waitSeconds'>,
): Promise<BegunTurn> {
  const { key } = request;
  const to = request.to === undefined ? undefined : cleanText(request.to);
  const caller = c.get('caller');
  if (request.session === undefined && !hasScope(caller, 'admin')) throw needsAdmin();
  const session = request.session === undefined ? undefined : readableKey(request.session);
  const question = cleanText(request.question);
  const message = toInbound('question', caller, ownSession.slice('http:'.length), {
    content: to === undefined ? question : `${to}: ${question}`,
    media: [],
    language: wantedLanguages(c.env.incoming),
  });
  const receipt = await gateway.askPerson(caller, message, { question, to, session }, (person) =>
    receive(message, { caller, entry: 'run', question: person }),
  );
  if (receipt.kind === 'refused') throw refusal(receipt, ownSession);
  if (receipt.kind === 'handled') throw new TypeError('a question was taken as a command');
  const repeated = receipt.kind === 'duplicate';
  if (repeated && receipt.differs === true) throw otherQuestion(key);
  // The list of conversations is for those that go on.
  if (!repeated) await gateway.updateSession(caller, ownSession, { archived: true });
  return { tool: askPerson.name, turnId: receipt.turnId, key, repeated };
}

/** The tools, by name. */
export const TURN_TOOLS: ReadonlyMap<string, TurnTool> = new Map(
  [sendMessage, askPerson].map((one) => [one.name, one]),
);

/** The session of one question: what its key names belongs to the token. */
function questionSession({ tokenId }: Caller, key: string): SessionKey {
  const digest = createHash('sha256').update(`${tokenId} ${key}`).digest('hex').slice(0, 32);
  return `http:ask-${digest}`;
}

/**
 * Follows the turn to its end, to the deadline (epoch milliseconds), or until the signal aborts, and gives what is known of
 * it then. Throws `HttpError` when it was deleted, and `StoreError`.
 */
export async function awaitTurn(
  { gateway }: Pick<HandlerDeps, 'gateway'>,
  feed: TurnFeed,
  turn: BegunTurn,
  deadline: number,
  progress: Progress,
  signal: AbortSignal,
): Promise<OfferedResult> {
  const end = AbortSignal.any([signal, AbortSignal.timeout(Math.max(0, deadline - Date.now()))]);
  await feedEnd(feed, turn, progress, end);
  const status = await gateway.turn(turn.turnId);
  const tool = TURN_TOOLS.get(turn.tool);
  if (status === undefined || tool === undefined)
    throw new HttpError(410, 'session_deleted', 'The conversation of this call was deleted.');
  return tool.resultOf(status, turn);
}

/** Resolves when the turn has ended, waits for its caller, cannot be followed, or when the signal aborts. Never rejects. */
async function feedEnd(
  feed: TurnFeed,
  { turnId, repeated: replay }: { turnId: string; repeated: boolean },
  progress: Progress,
  signal: AbortSignal,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let news = '';
  let silentMs = 0;
  const timer = setInterval(() => {
    silentMs += NEWS_MS;
    if (news !== '') progress(news);
    else if (silentMs >= SILENCE_MS) progress('Waiting for the answer.');
    else return;
    news = '';
    silentMs = 0;
  }, NEWS_MS);
  const add = (text: string): void => void (news = (news + text).slice(-MAX_LINE).toWellFormed());
  signal.addEventListener('abort', () => resolve(), { once: true });
  if (signal.aborted) resolve();
  feed.follow(
    turnId,
    {
      whole: false,
      text: add,
      thinking: add,
      textWasThinking: () => undefined,
      toolCall: () => undefined,
      waiting: () => undefined,
      // What was sent as progress need not be the answer: that is read from the store.
      finish: () => resolve(),
      fail: () => resolve(),
    },
    { replay },
  );
  await promise;
  clearInterval(timer);
  feed.close();
}

function again(name: string, key: string): string {
  return `Call ${name} again with the key "${key}" and the same arguments to go on waiting.`;
}

function needsAdmin(): HttpError {
  const text =
    `This token lacks the scope "admin", with which anyone can be asked; "${PARLEY} token change ID --scope SCOPES" grants it. ` +
    'Without it, name with "session" one of your sessions that the chat of the person shares.';
  return new HttpError(403, 'forbidden', text);
}

function otherQuestion(key: string): HttpError {
  const text = `Another question was asked under the key "${key}": choose a new key for a new question.`;
  return new HttpError(422, 'other_question', text, { param: 'key' });
}
