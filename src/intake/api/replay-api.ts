/** Replays and marks of turns for callers of the API: of sessions that they see, on models that they may choose. */
import { type Caller, hasScope } from '../../protocol/access.ts';
import {
  type EvalCheck,
  type EvalMark,
  MAX_CASE_BYTES,
  MAX_CASES,
  MAX_EVAL_SETS,
  MAX_OWN_MARKS,
  type Replay,
  type ReplayApi,
  type ReplayReport,
  type Replays,
  type ReplaySide,
  type ReplayStore,
  type ReportedSide,
  type TurnRecord,
} from '../../protocol/agent/replays.ts';
import type { Usage } from '../../protocol/agent/provider.ts';
import { amountOf, costOf, type Prices } from '../../protocol/agent/usage.ts';
import { GatewayError } from '../../protocol/errors.ts';
import { inEnglish, type Say, textRef } from '../../protocol/texts/say.ts';
import type { IntakeContext } from '../context.ts';
import { checkChoice, ownerOf, type Visible } from '../sessions.ts';

/** Makes it. */
export function createReplayApi(
  context: IntakeContext,
  replays: Replays,
  prices: () => Prices,
  visible: Visible,
): ReplayApi {
  const store = context.store.replays;
  const recordFor = async (caller: Caller, turnId: string) => {
    const turn = await context.ledger.turn(turnId);
    const session = turn && (await visible(caller, turn.session));
    return session && { session, record: await readRecord(store, turnId) };
  };
  return {
    async replay(caller, turnId, choice, signal, say) {
      const turn = await recordFor(caller, turnId);
      if (turn?.record === undefined) return undefined;
      const userId = `token:${caller.tokenId}`;
      if (!hasScope(caller, 'admin')) {
        const resolved = choice.model === undefined ? {} : await context.models.resolve(choice.model, signal);
        const profileId = choice.profileId ?? resolved.profileId;
        await checkChoice(context, caller, turn.session, { profileId, model: resolved.model });
      }
      const replay = await replays.run(turn.record, choice, { userId, tokenId: caller.tokenId }, signal);
      return reportOf(replay, prices(), say);
    },
    async mark(caller, turnId, { set, checks }) {
      const turn = await recordFor(caller, turnId);
      if (turn?.record === undefined) return undefined;
      const marks = hasScope(caller, 'admin') ? [] : await store.marks({ ownerTokenId: caller.tokenId });
      const isNew = !marks.some((mark) => mark.turnId === turnId && mark.set === set);
      if (isNew && marks.length >= MAX_OWN_MARKS)
        throw new GatewayError('too_many_marks', textRef('replay.too_many_own', { limit: MAX_OWN_MARKS }));
      return await markTurn(store, set, turn.record, checks);
    },
    async unmark(caller, turnId, set) {
      const marks = await store.marks({ set, ownerTokenId: ownerOf(caller) });
      return marks.some((mark) => mark.turnId === turnId) && (await store.unmark(set, turnId));
    },
    marks: (caller) => store.marks({ ownerTokenId: ownerOf(caller) }),
  };
}

/** What is stored of a turn; undefined for an unknown one. Throws `GatewayError('turn_not_ended' | 'not_replayable')`, `StoreError`. */
export async function readRecord(store: ReplayStore, turnId: string): Promise<TurnRecord | undefined> {
  const record = await store.turnRecord(turnId);
  if (record === 'unfinished') throw new GatewayError('turn_not_ended', textRef('replay.not_ended'));
  if (record === 'gone') throw new GatewayError('not_replayable', textRef('replay.not_kept'));
  return record;
}

/** Marks a turn. Throws `GatewayError('turn_too_large' | 'too_many_marks')`, `StoreError`. */
export async function markTurn(
  store: ReplayStore,
  set: string,
  record: TurnRecord,
  checks: readonly EvalCheck[],
): Promise<EvalMark> {
  const bytes = Buffer.byteLength(JSON.stringify(record));
  if (bytes > MAX_CASE_BYTES) {
    const values = { size: kilobytes(bytes), limit: kilobytes(MAX_CASE_BYTES) };
    throw new GatewayError('turn_too_large', textRef('replay.too_large', values));
  }
  if ((await store.mark(set, record, checks)) === 'full')
    throw new GatewayError(
      'too_many_marks',
      textRef('replay.too_many', { set, cases: MAX_CASES, sets: MAX_EVAL_SETS }),
    );
  const marks = await store.marks({ set });
  const mark = marks.find(({ turnId }) => turnId === record.turnId);
  if (mark === undefined) throw new GatewayError('not_replayable', textRef('replay.not_kept'));
  return mark;
}

function kilobytes(bytes: number): string {
  return `${Math.ceil(bytes / 1024)} KB`;
}

/** A replay with its sums and costs, worded. */
export function reportOf(replay: Replay, prices: Prices, say: Say = inEnglish): ReplayReport {
  return {
    ...replay,
    original: reportedSide(replay.original, prices),
    replay: reportedSide(replay.replay, prices),
    missing: replay.missing.map((text) => say.text(text)),
  };
}

function reportedSide({ usage, ...side }: ReplaySide, prices: Prices): ReportedSide {
  const sum = (field: keyof Omit<Usage, 'estimated'>): number =>
    usage.reduce((total, one) => total + one[field], 0);
  return {
    ...side,
    promptTokens: sum('promptTokens'),
    completionTokens: sum('completionTokens'),
    estimated: usage.some(({ estimated }) => estimated === true),
    modelMs: sum('modelMs'),
    cost: costOf(
      prices,
      usage.map((one) => amountOf(prices, one.model, one)),
    ),
  };
}
