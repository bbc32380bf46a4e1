/** Queue modes: how messages that arrive in a burst, or while a turn runs, join that turn. */
import { GatewayError } from '../../protocol/errors.ts';
import type { Fence } from '../../protocol/store/lanes.ts';
import type { TurnPayload } from '../../protocol/store/accept.ts';
import type { JoinedMessage, WaitingBehind } from '../../protocol/store/ledger.ts';
import type { OpenedTurn } from '../../protocol/store/records.ts';
import { mergeSources, type Source } from '../../protocol/agent/risk.ts';
import { contextRow } from '../prompt/history.ts';
import { typedText } from '../prompt/marks.ts';
import type { AgentShared, Emit } from '../deps.ts';
import { MAX_PICTURES_PER_MESSAGE, receiveFiles } from './message-files.ts';
import { readMessage, type ReadMessage, readTurnPayload } from './turn-payload.ts';
import type { Turn, TurnProgress } from './turn-state.ts';

/** A burst ends after this much silence, in milliseconds: clients send the pieces of a long paste faster. */
export const COLLECT_QUIET_MS = 1_500;
/** Longest wait for the end of a burst, in milliseconds. */
export const COLLECT_MOST_MS = 6_000;
/** Messages that join a turn at once; the others follow at its next iteration, or get their own turn. */
export const MAX_JOINED = 50;
/** Longest text of joined messages, in UTF-16 units: the same as for one message. */
const MAX_JOINED_CHARS = 100_000;

/** A message that joins a turn. */
interface JoiningMessage extends ReadMessage {
  seq: number;
  turnId: string;
  edited: number | undefined;
}

function asRead({ seq, turnId, edited }: JoiningMessage): JoinedMessage {
  return { seq, turnId, edited };
}

/** The input of a turn: `combined` is the text of all messages of a burst, when there was more than one. */
export interface InitialInput {
  combined?: ReadMessage;
  joined: string[];
}

/**
 * Joins the messages that wait behind a turn that has not begun and whose own message is `ownMessage`: after a short silence in mode `collect`, at once in mode
 * `steer`. Their texts become one message, journaled in the same commit. Throws `StoreError`.
 */
export async function collectBurst(
  shared: AgentShared,
  fence: Fence,
  payload: TurnPayload,
  ownMessage: ReadMessage,
  openTurn: OpenedTurn,
  signal: AbortSignal,
): Promise<InitialInput | { waitMs: number }> {
  const none = { joined: [] };
  const { queueMode } = openTurn.session;
  if ((queueMode !== 'collect' && queueMode !== 'steer') || openTurn.journal.length > 0) return none;
  if (!isPlain(payload)) return none;
  const { ledger } = shared.stores;
  const queue = await ledger.waitingBehind(fence, MAX_JOINED);
  const waitMs = Math.min(COLLECT_QUIET_MS - queue.quietMs, COLLECT_MOST_MS - queue.waitedMs);
  if (queueMode === 'collect' && waitMs > 0) return { waitMs };
  const room = MAX_JOINED_CHARS - ownMessage.content.length;
  const messages = await joinable(
    shared,
    { fence, folder: openTurn.session.folder, signal },
    payload,
    queue,
    room,
  );
  if (messages.length === 0) return none;
  const combined = combine([ownMessage, ...messages]);
  const rows = [contextRow(0, { kind: 'user', ...combined })];
  if (!(await ledger.joinTurn(fence, payload.turnId, { rows, joined: messages.map(asRead) }))) return none;
  noteJoined(shared, fence, payload.turnId, messages);
  return { combined, joined: messages.map(({ turnId }) => turnId) };
}

/** One message of several: the sources of one of them count for all, and all must have the same author. */
function combine(messages: readonly ReadMessage[]): ReadMessage {
  const [first] = messages;
  const sources = messages.reduce<readonly Source[]>((all, one) => mergeSources(all, one.sources ?? []), []);
  const author = messages.every((one) => one.author === first?.author) ? first?.author : undefined;
  const typed = messages.some((one) => one.typed !== undefined)
    ? { typed: messages.map((one) => typedText(one)).join('\n') }
    : {};
  const lastPictures = messages.flatMap((one) => one.pictures ?? []).slice(-MAX_PICTURES_PER_MESSAGE);
  const pictures = lastPictures.length === 0 ? {} : { pictures: lastPictures };
  const content = messages.map((one) => one.content).join('\n');
  // With several end users it is no one's.
  const owner = messages.every((one) => one.owner === first?.owner) ? first?.owner : 'several';
  return { content, author, ...(owner !== undefined && { owner }), ...typed, sources, ...pictures };
}

/**
 * In mode `steer`, adds the messages that the user has sent in the meantime, before an iteration, and emits
 * `messages_joined`. Throws `StoreError`.
 */
export async function takeSteering(shared: AgentShared, turn: Turn, n: number, emit: Emit): Promise<void> {
  if (turn.steering === undefined) return;
  const hasBegun = n > 1 || turn.rows.plan !== undefined;
  if (hasBegun && turn.rows.answer(n) === undefined) await steer(shared, turn, turn.steering, n);
  const turnIds = turn.steering.unreported.splice(0);
  if (turnIds.length > 0) emit({ type: 'messages_joined', turnIds });
}

async function steer(
  shared: AgentShared,
  turn: Turn,
  { payload, unreported }: NonNullable<TurnProgress['steering']>,
  n: number,
): Promise<void> {
  const { ledger } = shared.stores;
  const queue = await ledger.waitingBehind(turn.fence, MAX_JOINED);
  if (queue.mode !== 'steer') return;
  const messages = await joinable(shared, turn, payload, queue, MAX_JOINED_CHARS);
  if (messages.length === 0) return;
  const rows = messages.map(({ seq, turnId: _own, edited: _edited, ...message }) =>
    contextRow(n, { kind: 'user', ...message, laneSeq: seq }),
  );
  const fresh = turn.rows.fresh();
  if (
    !(await ledger.joinTurn(turn.fence, turn.turnId, {
      rows: [...fresh, ...rows],
      joined: messages.map(asRead),
    }))
  )
    return;
  turn.rows.journaled(fresh);
  turn.rows.joined(rows);
  noteJoined(shared, turn.fence, turn.turnId, messages);
  unreported.push(...messages.map(({ turnId }) => turnId));
}

/** One line of the log for each message that became part of another's turn. */
function noteJoined(
  { log }: AgentShared,
  { lane }: Fence,
  into: string,
  messages: readonly JoiningMessage[],
): void {
  for (const { turnId, seq } of messages) log.info({ lane, laneSeq: seq, turnId, into }, 'message_joined');
}

/**
 * The first waiting messages that may join a turn: from the same person in the same chat, for the same profile and model,
 * with at most `room` characters. A message of another person never acts with this person's rights.
 */
async function joinable(
  shared: AgentShared,
  { fence, folder, signal }: Pick<Turn, 'fence' | 'folder' | 'signal'>,
  head: TurnPayload,
  queue: WaitingBehind,
  room: number,
): Promise<JoiningMessage[]> {
  const accepted: JoiningMessage[] = [];
  let chars = 0;
  for (const { seq, payload: value } of queue.messages) {
    const payload = readTurnPayload(value);
    if (payload instanceof GatewayError || !isPlain(payload) || !isSameKind(payload, head)) break;
    const files = await receiveFiles(shared, fence, { payload, laneSeq: seq, folder }, signal);
    if (signal.aborted) break;
    const message = readMessage(payload.message, files);
    chars += message.content.length;
    if (chars > room) break;
    accepted.push({ seq, turnId: payload.turnId, edited: payload.edited, ...message });
  }
  return accepted;
}

function isSameKind(a: TurnPayload, b: TurnPayload): boolean {
  return (
    a.address === b.address &&
    a.message.channel === b.message.channel &&
    a.message.senderId === b.message.senderId &&
    a.message.endUser === b.message.endUser &&
    a.profileId === b.profileId &&
    a.model === b.model
  );
}

/** True when the message has no options that need a separate turn. */
function isPlain({ message, entry, mode }: TurnPayload): boolean {
  return message.channel !== 'system' && entry === 'runStream' && mode === undefined;
}
