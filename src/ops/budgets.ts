/** Budgets as the settings have them: reserves of model calls, and the settling of what is used, while any cap is set. */
import {
  amountIn,
  amountsOf,
  type BudgetLimits,
  type BudgetReport,
  type Budgets,
  type BudgetState,
  type BudgetStore,
  type BudgetWork,
  type Cap,
  capsFor,
  capText,
  currentCap,
  hasCaps,
  inUnit,
  type MeterCall,
  MAX_LISTED_BUDGETS,
  periodAt,
  RESERVED_ANSWER,
  type Reserved,
  resetText,
} from '../protocol/agent/budgets.ts';
import {
  type ModelUsage,
  priceOf,
  type Prices,
  type Settlement,
  type UsageNote,
  type UsageStore,
} from '../protocol/agent/usage.ts';
import type { SubagentStore } from '../protocol/agent/subagents.ts';
import { GatewayError } from '../protocol/errors.ts';
import { newId } from '../lib/ids.ts';
import { estimateTokens } from '../lib/text.ts';
import type { Ledger } from '../protocol/store/ledger.ts';
import type { UserId } from '../protocol/store/notes.ts';
import type { ChoiceStore } from '../protocol/store/records.ts';
import { textRef } from '../protocol/texts/say.ts';

/** How often a reserve makes the rows of its caps; once is enough unless others delete them. */
const MAX_OPENINGS = 3;

interface BudgetParts {
  store: { ledger: Ledger; budgets: BudgetStore; usage: UsageStore; choices: ChoiceStore };
  /** The settings as they are now. */
  now: () => { limits: BudgetLimits; prices: Prices };
  epochNow: () => number;
}

/** What stores usage. */
interface SettledStores {
  ledger: Ledger;
  subagents: SubagentStore;
}

/** The budgets, with what reports them and what settles them. Nothing is read or written while no cap is set. */
export interface LiveBudgets extends Budgets {
  /** The caps on a person, or all caps on which anything was spent, the largest first. Throws `StoreError`. */
  report(of: { person: UserId } | 'all'): Promise<BudgetReport[]>;
  metered: MeterCall;
  /** The same stores; what they store of usage also settles reserves. */
  settling(stores: SettledStores): SettledStores;
}

/** Makes the budgets. */
export function createBudgets({ store, now, epochNow }: BudgetParts): LiveBudgets {
  const { budgets } = store;
  /** True once this process has reserved anything: it settles that also when the caps are gone. */
  let hasReserved = false;
  const isOn = (): boolean => hasReserved || hasCaps(now().limits);
  const capsOf: Budgets['capsFor'] = (spender) => {
    const { limits, prices } = now();
    return hasCaps(limits) ? capsFor(limits, prices, spender, epochNow()) : [];
  };
  const settlementOf = (holder: string, usage: readonly ModelUsage[], isEnd: boolean): Settlement => ({
    holder,
    ends: isEnd,
    ...amountsOf(now().prices, usage),
  });
  const open = async (caps: readonly Cap[]): Promise<void> => {
    const rows = caps.map(async (cap) => ({
      key: cap.key,
      spent: await spentBefore(store, cap, now().prices, epochNow()),
    }));
    await budgets.open(await Promise.all(rows));
  };
  const reserve: Budgets['reserve'] = async (work, caps, usage, call) => {
    hasReserved = true;
    const { prices } = now();
    const inMoney = caps.some(({ unit }) => unit !== 'tokens');
    if (inMoney && priceOf(prices, call.model) === undefined)
      throw new GatewayError('no_price', textRef('budget.no_price', { model: call.model }));
    const amounts = amountsOf(prices, [...usage, call]);
    return await reserveAmounts(budgets, work, caps, (cap) => amountIn(cap, amounts), open);
  };
  const usedUp = (cap: Cap): GatewayError => errorOf(cap, epochNow());
  const within: Budgets['within'] = async (spender, call, run) => {
    const caps = capsOf(spender);
    if (caps.length === 0) return await run();
    const holder = newId();
    const outcome = await reserve({ holder }, caps, [], call);
    if (outcome.kind === 'refused') throw usedUp(outcome.cap);
    try {
      return await run(holder);
    } finally {
      await budgets.release(holder);
    }
  };
  return {
    capsFor: capsOf,
    reserve,
    release: (holder) => budgets.release(holder),
    noteTold: (key) => budgets.noteTold(key),
    usedUp,
    within,
    metered: meterCalls({ store, settlementOf, capsFor: capsOf, within }),
    report: (of) => report(budgets, { now, epochNow, open }, of),
    settling: ({ ledger, subagents }) => ({
      ledger: settlingLedger(ledger, isOn, settlementOf),
      subagents: settlingSubagents(subagents, isOn, settlementOf),
    }),
  };
}

/** Makes `LiveBudgets.metered`. Schedules and webhooks have no account of their own: their calls count for all. */
function meterCalls({
  store,
  settlementOf,
  capsFor: capsOf,
  within,
}: Pick<BudgetParts, 'store'> &
  Pick<Budgets, 'capsFor' | 'within'> & { settlementOf: SettlementOf }): MeterCall {
  return async ({ purpose, model, input, person }, run, outputOf) => {
    const spender = { person: person === 'system' ? undefined : person };
    if (capsOf(spender).length === 0) return await run();
    const promptTokens = estimateTokens(input);
    const call = { model, promptTokens, completionTokens: outputOf === undefined ? 0 : RESERVED_ANSWER };
    return await within(spender, call, async (holder) => {
      const startedAt = performance.now();
      const result = await run();
      if (holder === undefined) return result;
      const completionTokens = outputOf === undefined ? 0 : estimateTokens(outputOf(result));
      const modelMs = performance.now() - startedAt;
      const usage = { model, promptTokens, completionTokens, modelMs, estimated: true as const };
      const settles = settlementOf(holder, [usage], true);
      await store.ledger.noteUsage({ purpose, userId: spender.person, ...usage, settles });
      return result;
    });
  };
}

async function reserveAmounts(
  store: BudgetStore,
  work: BudgetWork,
  caps: readonly Cap[],
  amountFor: (cap: Cap) => number,
  open: (caps: readonly Cap[]) => Promise<void>,
): Promise<Reserved> {
  const byKey = new Map(caps.map((cap) => [cap.key, cap]));
  const capsAt = (keys: readonly string[]): Cap[] => keys.flatMap((key) => byKey.get(key) ?? []);
  const amounts = caps.map((cap) => {
    return { key: cap.key, limit: cap.limit, inTokens: cap.unit === 'tokens', amount: amountFor(cap) };
  });
  for (let openings = 0; ; openings += 1) {
    const outcome = await store.reserve(work, amounts);
    if (outcome.kind === 'held') return { kind: 'held', nearly: capsAt(outcome.nearly) };
    if (outcome.kind === 'refused') {
      const cap = byKey.get(outcome.key)!;
      const { state } = outcome;
      const missing = state.spent + state.held + amountFor(cap) - cap.limit - state.more;
      return { kind: 'refused', cap, state, missing };
    }
    if (openings === MAX_OPENINGS) throw new Error('The rows of budgets vanish as soon as they are made.');
    await open(capsAt(outcome.keys));
  }
}

/**
 * What was spent in the current period before the cap was first used: in the first period of a cap on people or on all,
 * their usage so far; in any other, nothing, because every reserve since has been counted.
 */
async function spentBefore(
  { usage, choices }: BudgetParts['store'],
  { scope, subject, unit, period }: Cap,
  prices: Prices,
  now: number,
): Promise<number> {
  if (scope !== 'person' && scope !== 'total') return 0;
  const { name, from } = periodAt(period, now);
  const first = await choices.choose(`budget/${scope}/${unit}/${period}`, name, undefined);
  if (first !== name) return 0;
  const query = { from, to: new Date(now + 1), ...(scope === 'person' && { userId: subject }) };
  if (unit === 'tokens') {
    const { promptTokens, completionTokens } = await usage.sum(query);
    return promptTokens + completionTokens;
  }
  const sums = await usage.models(query);
  return amountsOf(
    prices,
    sums.map(({ key: model, promptTokens, completionTokens }) => ({ model, promptTokens, completionTokens })),
  ).micros;
}

/** Work that ends, or is not begun, because of a cap. */
function errorOf(cap: Cap, now: number): GatewayError {
  const text = textRef('budget.used_up', { ...capText(cap, cap.limit), reset: resetText(cap) });
  const retryAfterMs = Math.max(0, cap.resetsAt.getTime() - now);
  return new GatewayError('rate_limited', text, { retryable: true, retryAfterMs });
}

async function report(
  store: BudgetStore,
  {
    now,
    epochNow,
    open,
  }: Pick<BudgetParts, 'now' | 'epochNow'> & { open: (caps: readonly Cap[]) => Promise<void> },
  of: { person: UserId } | 'all',
): Promise<BudgetReport[]> {
  const { limits, prices } = now();
  if (!hasCaps(limits)) return [];
  const time = epochNow();
  const spender = of === 'all' ? {} : of;
  const scope = of === 'all' ? 'total' : 'person';
  const caps = capsFor(limits, prices, spender, time).filter((cap) => cap.scope === scope);
  const keys = caps.map(({ key }) => key);
  let states = await store.states({ keys });
  if (states.size < caps.length) {
    await open(caps.filter(({ key }) => !states.has(key)));
    states = await store.states({ keys });
  }
  if (of === 'all') {
    const { from: since } = periodAt('month', time);
    const all = await store.states({ since, limit: MAX_LISTED_BUDGETS });
    states = new Map([...states, ...all]);
  }
  return [...states].flatMap(([key, state]) => {
    const cap = currentCap(key, limits, prices, time);
    return cap === undefined ? [] : [reportOf(cap, state)];
  });
}

function reportOf(cap: Cap, state: BudgetState): BudgetReport {
  const { scope, subject, unit, period, limit, resetsAt } = cap;
  const [expense, reserved, total] = [state.spent, state.held, limit + state.more].map((amount) =>
    inUnit(cap, amount),
  );
  return {
    scope,
    subject,
    unit,
    period,
    spent: expense ?? 0,
    reserved: reserved ?? 0,
    cap: total ?? 0,
    resetsAt,
  };
}

type SettlementOf = (holder: string, usage: readonly ModelUsage[], isEnd: boolean) => Settlement;

function settlingLedger(ledger: Ledger, isOn: () => boolean, settlementOf: SettlementOf): Ledger {
  return {
    ...ledger,
    finishTurn(fence, finish) {
      // A dead letter may be replayed: what it has reserved stays until then, or for the period.
      if (!isOn() || finish.deadLetter !== undefined) return ledger.finishTurn(fence, finish);
      return ledger.finishTurn(fence, {
        ...finish,
        settles: settlementOf(finish.turnId, finish.usage, true),
      });
    },
    storePlan(fence, turnId, planning) {
      if (!isOn()) return ledger.storePlan(fence, turnId, planning);
      const usage = { ...planning.usage, model: planning.model };
      return ledger.storePlan(fence, turnId, { ...planning, settles: settlementOf(turnId, [usage], false) });
    },
    noteUsage(note: UsageNote) {
      const holder = note.holder ?? note.turnId;
      if (!isOn() || holder === undefined) return ledger.noteUsage(note);
      return ledger.noteUsage({ ...note, settles: settlementOf(holder, [note], note.turnId === undefined) });
    },
  };
}

function settlingSubagents(
  subagents: SubagentStore,
  isOn: () => boolean,
  settlementOf: SettlementOf,
): SubagentStore {
  return {
    ...subagents,
    close: (fence, agent, end) =>
      subagents.close(
        fence,
        agent,
        isOn() ? { ...end, settles: settlementOf(agent.agentId, end.usage, true) } : end,
      ),
    finish(fence, finish) {
      if (!isOn() || finish.deadLetter !== undefined) return subagents.finish(fence, finish);
      return subagents.finish(fence, {
        ...finish,
        settles: settlementOf(finish.agentId, finish.usage, true),
      });
    },
  };
}
