/** One compression: what is uncovered is read, its oldest turns are summarised, and the summary takes their place (N-67). */
import type { UnsummarizedRow } from '../../contracts/records.ts';
import { ProviderError } from '../../contracts/errors.ts';
import type { SessionKey } from '../../contracts/message.ts';
import type { Profile } from '../../contracts/profile.ts';
import type { ChatRequest, Usage } from '../../contracts/provider.ts';
import { contextRow } from '../prompt/history.ts';
import type { ContextRow } from '../prompt/history.ts';
import { MAX_ANSWER_CHARS } from '../deps.ts';
import type { AgentShared } from '../deps.ts';
import { completeText } from '../model/complete-text.ts';
import { modelBudget } from '../model/model-budget.ts';
import type { ModelBudget } from '../model/model-budget.ts';
import { taintOf } from '../tools/taint.ts';
import { chooseTurns } from './choose.ts';
import type { Turns } from './choose.ts';
import { summaryRequest } from './transcript.ts';

/** Rows that are looked at for one compression; a turn has fewer. */
const COMPRESSION_ROWS = 400;
/** Tokens of one summary. */
const SUMMARY_TOKENS = 1_024;
/** Part of the input budget that the record of what is summarised may fill: its estimate is rough. */
const RECORD_SHARE = 0.8;
/** Words of a summary per token of its limit. */
const WORDS_PER_TOKEN = 0.5;

/** The context to compress, and the model that does it. */
export interface CompressionRequest {
  session: SessionKey;
  userId: string;
  profile: Profile;
  /** The session's; unset = the default model. */
  model?: string | undefined;
  signal: AbortSignal;
}

/** Estimated tokens of what the next turn reads, before and after; or why nothing was done. */
export type Compressed = { before: number; after: number } | { refused: string };

/**
 * Compresses once. `refused` when there is too little to summarise, when the summary would not be shorter, or when somebody
 * else covered the same meanwhile. Throws `ProviderError`, `StoreError`, or the signal's reason; nothing is changed then.
 */
export async function compressOnce(shared: AgentShared, order: CompressionRequest): Promise<Compressed> {
  const { contexts } = shared.deps;
  const rows = await contexts.unsummarized(order.session, COMPRESSION_ROWS);
  const available = await modelBudget(shared, order);
  const chosen = chooseTurns(rows, available.budget);
  if (chosen.length === 0) return { refused: 'there is too little to summarise' };
  const { summary, turns } = await summarise(shared, order, available, chosen);
  const covered = turns.flatMap((turn) => turn.rows);
  const tokens = sumOf(covered);
  if (summary.tokens >= tokens) return { refused: 'the summary is not shorter than what it replaces' };
  const done = await contexts.summarize(order.session, {
    from: covered[0]!.laneSeq,
    upTo: covered.at(-1)!.laneSeq,
    rows: covered.map(({ seq }) => seq),
    summary: summary.entry,
    tokens: summary.tokens,
  });
  const before = sumOf(rows);
  return done
    ? { before, after: before - tokens + summary.tokens }
    : { refused: 'it was summarised meanwhile' };
}

type SummaryRow = ContextRow & { entry: { kind: 'summary'; content: string } };

/** Asks the model that answers the session, under the same window, so that it is not loaded anew. */
async function summarise(
  shared: AgentShared,
  order: CompressionRequest,
  available: ModelBudget,
  chosen: readonly Turns[],
): Promise<{ summary: SummaryRow; turns: Turns[] }> {
  const { model, can, contextWindow, budget } = available;
  const maxTokens = Math.min(SUMMARY_TOKENS, order.profile.maxTokens ?? SUMMARY_TOKENS);
  const record = summaryRequest(chosen, budget * RECORD_SHARE, Math.floor(maxTokens * WORDS_PER_TOKEN));
  const request: ChatRequest = {
    model,
    messages: record.messages,
    contextWindow,
    maxTokens,
    sessionKey: order.session,
    temperature: 0.3,
    ...(can.thinking && { think: false }),
  };
  const content = await callModel(shared, order, request);
  const sources = [...taintOf(record.turns.flatMap((turn) => turn.rows)).sources];
  const entry = { kind: 'summary' as const, content, ...(sources.length > 0 && { sources }) };
  return { summary: { ...contextRow(0, entry), entry }, turns: record.turns };
}

async function callModel(
  shared: AgentShared,
  { session, userId, signal }: CompressionRequest,
  request: ChatRequest,
): Promise<string> {
  const note = { purpose: 'compression' as const, session, userId, model: request.model };
  const onUsage = (usage: Usage): Promise<void> => shared.deps.ledger.noteUsage({ ...note, ...usage });
  // Making a summary is not shown, nor that it waits.
  const said = await completeText(
    shared,
    { request, signal, maxChars: MAX_ANSWER_CHARS, onUsage },
    () => undefined,
  );
  const text = said.trim();
  if (text === '') throw new ProviderError('bad_response', 'The model gave an empty summary.');
  return text;
}

function sumOf(rows: readonly UnsummarizedRow[]): number {
  return rows.reduce((sum, { tokens }) => sum + tokens, 0);
}
