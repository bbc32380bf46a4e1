/** Messages that come while a turn runs, or in a burst: when they become part of it, and as what (queue modes). */
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

/** A burst is over when nothing came for this long, in milliseconds: a client sends the pieces of a long paste faster. */
export const COLLECT_QUIET_MS = 1_500;
/** Longest wait for the end of a burst, in milliseconds. */
export const COLLECT_MOST_MS = 6_000;
/** Messages taken into a turn at a time; the others follow at its next iteration, or run by themselves. */
export const MAX_JOINED = 50;
/** Characters that several messages may have together as one, in UTF-16 units: as many as one message may have. */
const MAX_JOINED_CHARS = 100_000;

/** A message that joins the turn. */
interface Joining {
  seq: number;
  turnId: string;
  content: string;
  source: TextSource | undefined;
}

/** The input a turn begins with: the text of all messages of a burst, when there was more than one. */
export interface InitialInput {
  words?: { content: string; source: TextSource | undefined };
  joined: string[];
}

/**
 * Gathers what waits behind a turn that has not begun: after a quiet moment in mode `collect`, at once in mode `steer`.
 * The texts of all become its one message, journaled in the same commit. Throws `StoreError`.
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
  // A foreign source of one of them counts for all of them.
  const source = own.source ?? joined.find((one) => one.source !== undefined)?.source;
  const rows = [contextRow(0, { kind: 'user', content, source })];
  if (!(await ledger.joinTurn(fence, payload.turnId, { rows, joined }))) return none;
  return { words: { content, source }, joined: joined.map(({ turnId }) => turnId) };
}

/**
 * Before an iteration: takes in the messages its user sent meanwhile, in mode `steer`, and emits `messages_joined`. Throws
 * `StoreError`.
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
 * The messages at the front that may become part of a turn: from the same person in the same place, without options of
 * their own, up to `MAX_JOINED_CHARS`. A message of another person never acts in this one's name.
 */
function joinable(waiting: WaitingBehind, head: TurnPayload, used: number): Joining[] {
  const taken: Joining[] = [];
  let chars = used;
  for (const { seq, payload: stored } of waiting.messages) {
    const payload = readTurnPayload(stored);
    if (payload instanceof GatewayError || !isPlain(payload) || !isSame(payload, head)) break;
    const content = messageText(payload.message);
    chars += content.length;
    if (chars > MAX_JOINED_CHARS) break;
    taken.push({ seq, turnId: payload.turnId, content, source: sourceOf(payload.message) });
  }
  return taken;
}

function isSame(a: TurnPayload, b: TurnPayload): boolean {
  return (
    a.address === b.address &&
    a.message.channel === b.message.channel &&
    a.message.senderId === b.message.senderId
  );
}

/** True when the message asks for nothing that only a turn of its own can give. */
function isPlain({ message, entry, model, profileId, mode }: TurnPayload): boolean {
  const asksForMore = model !== undefined || profileId !== undefined || mode !== undefined;
  return message.channel !== 'system' && entry === 'runStream' && !asksForMore;
}
