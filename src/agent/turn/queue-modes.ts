/** Queue modes: how messages that arrive in a burst, or while a turn runs, join that turn. */
import { GatewayError } from '../../contracts/errors.ts';
import type { Fence } from '../../contracts/lanes.ts';
import type { TurnPayload, WaitingBehind } from '../../contracts/ledger.ts';
import { sourceOf } from '../../contracts/message.ts';
import type { OpenedTurn } from '../../contracts/records.ts';
import type { TextSource } from '../../contracts/risk.ts';
import { contextRow } from '../prompt/history.ts';
import type { AgentShared, Emit } from '../deps.ts';
import { messageText, readTurnPayload } from './turn-payload.ts';
import type { TurnIdentity, TurnProgress } from '../state/turn-state.ts';

/** A burst ends after this much silence, in milliseconds: clients send the pieces of a long paste faster. */
export const COLLECT_QUIET_MS = 1_500;
/** Longest wait for the end of a burst, in milliseconds. */
export const COLLECT_MOST_MS = 6_000;
/** Messages that join a turn at a time; the others follow at its next iteration, or get a turn of their own. */
export const MAX_JOINED = 50;
/** Longest text of joined messages, in UTF-16 units: the same as for one message. */
const MAX_JOINED_CHARS = 100_000;

/** A message that joins a turn. */
interface Joining {
  seq: number;
  turnId: string;
  content: string;
  source: TextSource | undefined;
}

/** The input of a turn: `combined` is the text of all messages of a burst, when there was more than one. */
export interface InitialInput {
  combined?: { content: string; source: TextSource | undefined };
  joined: string[];
}

/**
 * Joins the messages that wait behind a turn that has not begun: after a short silence in mode `collect`, at once in mode
 * `steer`. Their texts become one message, journaled in the same commit. Throws `StoreError`.
 */
export async function collectBurst(
  shared: AgentShared,
  fence: Fence,
  payload: TurnPayload,
  opened: OpenedTurn,
): Promise<InitialInput | { waitMs: number }> {
  const none = { joined: [] };
  const { queueMode } = opened.session;
  if ((queueMode !== 'collect' && queueMode !== 'steer') || opened.journal.length > 0) return none;
  if (!isPlain(payload)) return none;
  const { ledger } = shared.deps;
  const waiting = await ledger.waitingBehind(fence, MAX_JOINED);
  const waitMs = Math.min(COLLECT_QUIET_MS - waiting.quietMs, COLLECT_MOST_MS - waiting.waitedMs);
  if (queueMode === 'collect' && waitMs > 0) return { waitMs };
  const own = { content: messageText(payload.message), source: sourceOf(payload.message) };
  const joined = joinable(waiting, payload, own.content.length);
  if (joined.length === 0) return none;
  const content = [own, ...joined].map((one) => one.content).join('\n');
  // A source of one of them counts for all of them.
  const source = own.source ?? joined.find((one) => one.source !== undefined)?.source;
  const rows = [contextRow(0, { kind: 'user', content, source })];
  if (!(await ledger.joinTurn(fence, payload.turnId, { rows, joined }))) return none;
  return { combined: { content, source }, joined: joined.map(({ turnId }) => turnId) };
}

/**
 * In mode `steer`, adds the messages that the user has sent meanwhile before an iteration, and emits `messages_joined`.
 * Throws `StoreError`.
 */
export async function takeSteering(
  shared: AgentShared,
  turn: TurnIdentity & TurnProgress,
  n: number,
  emit: Emit,
): Promise<void> {
  if (turn.joining === undefined) return;
  const begun = n > 1 || turn.rows.plan !== undefined;
  if (begun && turn.rows.answer(n) === undefined) await steer(shared, turn, turn.joining, n);
  const turnIds = turn.joining.unreported.splice(0);
  if (turnIds.length > 0) emit({ type: 'messages_joined', turnIds });
}

async function steer(
  shared: AgentShared,
  turn: TurnIdentity & TurnProgress,
  { payload, unreported }: NonNullable<TurnProgress['joining']>,
  n: number,
): Promise<void> {
  const { ledger } = shared.deps;
  const waiting = await ledger.waitingBehind(turn.fence, MAX_JOINED);
  if (waiting.mode !== 'steer') return;
  const joined = joinable(waiting, payload, 0);
  if (joined.length === 0) return;
  const rows = joined.map(({ seq, content, source }) =>
    contextRow(n, { kind: 'user', content, source, laneSeq: seq }),
  );
  const fresh = turn.rows.fresh();
  if (!(await ledger.joinTurn(turn.fence, turn.turnId, { rows: [...fresh, ...rows], joined }))) return;
  turn.rows.journaled(fresh);
  turn.rows.joined(rows);
  unreported.push(...joined.map(({ turnId }) => turnId));
}

/**
 * The first waiting messages that may join a turn: from the same person in the same chat, without options of their own,
 * up to `MAX_JOINED_CHARS`. A message of another person never acts with this person's rights.
 */
function joinable(waiting: WaitingBehind, head: TurnPayload, used: number): Joining[] {
  const joining: Joining[] = [];
  let chars = used;
  for (const { seq, payload: stored } of waiting.messages) {
    const payload = readTurnPayload(stored);
    if (payload instanceof GatewayError || !isPlain(payload) || !isSameSender(payload, head)) break;
    const content = messageText(payload.message);
    chars += content.length;
    if (chars > MAX_JOINED_CHARS) break;
    joining.push({ seq, turnId: payload.turnId, content, source: sourceOf(payload.message) });
  }
  return joining;
}

function isSameSender(a: TurnPayload, b: TurnPayload): boolean {
  return (
    a.address === b.address &&
    a.message.channel === b.message.channel &&
    a.message.senderId === b.message.senderId
  );
}

/** True when the message has no options that need a turn of its own. */
function isPlain({ message, entry, model, profileId, mode }: TurnPayload): boolean {
  const asksForMore = model !== undefined || profileId !== undefined || mode !== undefined;
  return message.channel !== 'system' && entry === 'runStream' && !asksForMore;
}
