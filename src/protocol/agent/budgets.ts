/**
 * Budgets: caps on what each person, profile, schedule and plan, and all together, may spend in a day or month, in tokens
 * and in money. Before each model call its work reserves what the call may cost, and what it has cost settles the reserve.
 */
import { z } from 'zod';
import type { Fence } from '../store/lanes.ts';
import type { GatewayError } from '../errors.ts';
import type { Payer } from '../message.ts';
import { textRef, type TextRef } from '../texts/say.ts';
import { amountOf, type Amounts, costText, type ModelUsage, type Prices } from './usage.ts';

/** Whose spending a cap adds up: each person's, each profile's, each schedule's, each plan's, or that of all. */
export const BUDGET_SCOPES = ['person', 'profile', 'schedule', 'plan', 'total'] as const;
export type BudgetScope = (typeof BUDGET_SCOPES)[number];

/** Days and months are those of UTC. */
type BudgetPeriod = 'day' | 'month';

/** Largest cap, in tokens and in the currency of the prices. */
const MAX_CAP = 1_000_000_000_000;
/** Share of a cap from which its people are told, once in its period. */
export const NEARLY = 0.8;
/** Tokens that a call may answer where its request sets no limit: so many are reserved for it. */
export const RESERVED_ANSWER = 4_096;
/** Most caps in one report. */
export const MAX_LISTED_BUDGETS = 200;
/** How long spending is kept, in days: longer than the longest period. */
export const BUDGET_DAYS = 62;

const tokens = z.int().min(1).max(MAX_CAP);
const money = z.number().positive('must be an amount above 0').max(MAX_CAP);

/** The four caps of a scope in `config.json`; `whose` begins their descriptions. */
export function capFields(whose: string) {
  const days = 'in a day (UTC); unset = no limit';
  const months = 'in a month (UTC); unset = no limit';
  return {
    tokensPerDay: tokens.optional().describe(`model tokens that ${whose} may use ${days}`),
    tokensPerMonth: tokens.optional().describe(`model tokens that ${whose} may use ${months}`),
    pricePerDay: money.optional().describe(`what ${whose} may cost ${days}; needs [prices](budgets.md)`),
    pricePerMonth: money.optional().describe(`what ${whose} may cost ${months}; needs [prices](budgets.md)`),
  };
}

type Caps = z.output<z.ZodObject<ReturnType<typeof capFields>>>;

/** The caps as they are set: those of a person beside those of the other scopes. */
export type BudgetLimits = Caps & Readonly<Record<Exclude<BudgetScope, 'person'>, Caps>>;

/** A payer, and the profile that works. */
export type Spender = Payer & { profile?: string | undefined };

/** A cap that applies to some work, in its current period. Amounts of money are in millionths of the currency. */
export interface Cap {
  /** The same for all work that it adds up; a later period has another. */
  key: string;
  scope: BudgetScope;
  /** A user id, or the id of a profile, schedule or plan; empty for all. */
  subject: string;
  unit: BudgetUnit;
  period: BudgetPeriod;
  limit: number;
  resetsAt: Date;
}

/** `tokens`, or the code of a currency. */
export type BudgetUnit = string;

const TOKENS = 'tokens';
/** Amounts of money are counted in whole millionths, which a price of a million tokens makes of a token. */
const MICROS = 1_000_000;

/** What a cap has left, as far as people read it. */
export interface BudgetState {
  /** Settled, in its unit. */
  spent: number;
  /** Reserved by work that has not ended. */
  held: number;
  /** What owners have added in this period. */
  more: number;
  /** An owner has refused more in this period. */
  refused: boolean;
}

/** A cap with its state, for reports; amounts are in tokens or in the currency. */
export interface BudgetReport {
  scope: BudgetScope;
  subject: string;
  unit: BudgetUnit;
  period: BudgetPeriod;
  spent: number;
  reserved: number;
  /** With what owners have added. */
  cap: number;
  resetsAt: Date;
}

/** Whether any cap is set. Nothing is read or written for budgets while none is. */
export function hasCaps(limits: BudgetLimits): boolean {
  return BUDGET_SCOPES.some((scope) => capsOfScope(limits, scope).length > 0);
}

/** Whether any cap is in money. */
export function hasMoneyCaps(limits: BudgetLimits): boolean {
  return BUDGET_SCOPES.some((scope) => capsOfScope(limits, scope).some(({ unit }) => unit === 'money'));
}

function capsOfScope(limits: BudgetLimits, scope: BudgetScope) {
  const caps: Partial<Caps> = scope === 'person' ? limits : limits[scope];
  const all = [
    { unit: TOKENS, period: 'day', limit: caps.tokensPerDay },
    { unit: TOKENS, period: 'month', limit: caps.tokensPerMonth },
    { unit: 'money', period: 'day', limit: caps.pricePerDay },
    { unit: 'money', period: 'month', limit: caps.pricePerMonth },
  ] as const;
  return all.flatMap(({ limit, ...cap }) => (limit === undefined ? [] : [{ ...cap, limit }]));
}

/** The caps on the work of a spender at this time (epoch milliseconds), in the order of the scopes. */
export function capsFor(
  limits: BudgetLimits,
  { currency }: Pick<Prices, 'currency'>,
  spender: Spender,
  now: number,
): Cap[] {
  return BUDGET_SCOPES.flatMap((scope) => {
    const subject = scope === 'total' ? '' : spender[scope];
    if (subject === undefined) return [];
    return capsOfScope(limits, scope).map((cap) => {
      const unit = cap.unit === TOKENS ? TOKENS : currency;
      const limit = cap.unit === TOKENS ? cap.limit : Math.round(cap.limit * MICROS);
      return { ...capOf({ scope, subject, unit, period: cap.period }, now), limit };
    });
  });
}

function capOf(about: Pick<Cap, 'scope' | 'subject' | 'unit' | 'period'>, now: number): Omit<Cap, 'limit'> {
  const { scope, subject, unit, period } = about;
  const { name, resetsAt } = periodAt(period, now);
  return { ...about, key: `${scope}/${unit}/${name}/${subject}`, resetsAt };
}

/** The period at a time: its name (`2026-11-30`, `2026-11`), its first moment, and that of the next one. */
export function periodAt(period: BudgetPeriod, now: number): { name: string; from: Date; resetsAt: Date } {
  const at = new Date(now);
  const [year, month, day] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()];
  const isDay = period === 'day';
  const from = new Date(Date.UTC(year, month, isDay ? day : 1));
  const resetsAt = new Date(isDay ? Date.UTC(year, month, day + 1) : Date.UTC(year, month + 1));
  return { name: from.toISOString().slice(0, isDay ? 10 : 7), from, resetsAt };
}

/** The cap that a stored key names, if its period is not over; undefined for any other. */
export function currentCap(
  key: string,
  limits: BudgetLimits,
  prices: Pick<Prices, 'currency'>,
  now: number,
): Cap | undefined {
  const [scopeName, , , ...rest] = key.split('/');
  const scope = BUDGET_SCOPES.find((one) => one === scopeName);
  if (scope === undefined) return undefined;
  return capsFor(limits, prices, { [scope]: rest.join('/') }, now).find((cap) => cap.key === key);
}

/** The amounts of some usage, rounded; a model without a price costs nothing. */
export function amountsOf(prices: Prices, usage: readonly Omit<ModelUsage, 'modelMs'>[]): Amounts {
  let count = 0;
  let amount = 0;
  for (const one of usage) {
    count += Math.round(one.promptTokens) + Math.round(one.completionTokens);
    amount += amountOf(prices, one.model, one) ?? 0;
  }
  return { tokens: count, micros: Math.round(amount * MICROS) };
}

/** The amount in the unit of a cap. */
export function amountIn({ unit }: Pick<Cap, 'unit'>, { tokens: count, micros }: Amounts): number {
  return unit === TOKENS ? count : micros;
}

/** An amount of a cap as people write it: tokens, or the currency. */
export function inUnit({ unit }: Pick<Cap, 'unit'>, amount: number): number {
  return unit === TOKENS ? amount : amount / MICROS;
}

/** The other way round; whole. */
export function fromUnit({ unit }: { unit: BudgetUnit }, amount: number): number {
  return Math.round(unit === TOKENS ? amount : amount * MICROS);
}

/** An amount of a cap as a person reads it: `€1.20`, `12,000 tokens`. */
export function amountText({ unit }: Pick<Cap, 'unit'>, amount: number, language = 'en'): TextRef {
  const locale = language === 'en' ? 'en-US' : language;
  return unit === TOKENS
    ? textRef('budget.tokens', { amount: Math.round(amount).toLocaleString(locale) })
    : textRef('budget.money', { amount: costText({ amount: amount / MICROS, currency: unit }, language) });
}

/** A cap as a person reads it: whose it is, how much it is, and how often. */
export function capText(
  cap: Pick<Cap, 'scope' | 'subject' | 'unit' | 'period'>,
  limit: number,
  language = 'en',
) {
  const { scope, subject, period } = cap;
  return {
    limit: amountText(cap, limit, language),
    period: textRef(period === 'day' ? 'budget.a_day' : 'budget.a_month'),
    whose: textRef(`budget.of_${scope}`, { subject: `\`${subject.replaceAll('`', "'")}\`` }),
  };
}

/** When a cap begins anew, as its readers read it, in UTC. */
export function resetText({ resetsAt }: Pick<Cap, 'resetsAt'>): string {
  return resetsAt.toISOString().slice(0, 16).replace('T', ' ');
}

/** What a piece of work reserves for. */
export interface BudgetWork {
  /** The id of a turn, a subagent, or a call outside any turn. */
  holder: string;
  /** Proof that the work is still this node's; absent outside turns. */
  fence?: Fence | undefined;
}

/** The outcome of a reserve. */
export type Reserved =
  | {
      kind: 'held';
      /** Caps of which at least `NEARLY` is used, and no one has been told in this period. */
      nearly: readonly Cap[];
    }
  /** Nothing was reserved: this cap has too little left. */
  | { kind: 'refused'; cap: Cap; state: BudgetState; missing: number };

/** Throws only `StoreError`. */
export interface BudgetStore {
  /**
   * Reserves the amounts of the caps, all or none, in place of what the holder has reserved before. `new`: caps without a
   * row, which `open` makes. Throws `FencedError` for work that is no longer this node's.
   */
  reserve(
    work: BudgetWork,
    caps: readonly { key: string; limit: number; inTokens: boolean; amount: number }[],
  ): Promise<
    | { kind: 'held'; nearly: readonly string[] }
    | { kind: 'refused'; key: string; state: BudgetState }
    | { kind: 'new'; keys: readonly string[] }
  >;
  /** Makes rows for caps in which this much was spent before; existing ones stay. */
  open(caps: readonly { key: string; spent: number }[]): Promise<void>;
  /** Gives back what the holder has reserved; nothing if it was settled. */
  release(holder: string): Promise<void>;
  /** Notes that people were told that most of this cap is used. */
  noteTold(key: string): Promise<void>;
  /** The state of these caps, or of the `limit` largest since a time. Those without a row are missing. */
  states(of: { keys: readonly string[] } | { since: Date; limit: number }): Promise<Map<string, BudgetState>>;
  /** Deletes at most `limit` that are older than `BUDGET_DAYS`, with what is still reserved of them; returns the number. */
  purge(limit: number): Promise<number>;
}

/** A call that is no answer of a chat model. */
export interface SideCall {
  purpose: 'speech' | 'embedding';
  model: string;
  /** What the model is sent: its length counts as input. */
  input: string;
  /** On whose account; absent = only that of all. */
  person?: string | undefined;
}

/**
 * Runs such a call within the budgets and notes its usage, both only while a cap is set; the length of `outputOf` its
 * result counts as output. Throws what `run` throws, `GatewayError('rate_limited' | 'no_price')`, `StoreError`.
 */
export type MeterCall = <T>(
  call: SideCall,
  run: () => Promise<T>,
  outputOf?: (result: T) => string,
) => Promise<T>;

/** Reserves for model calls. While no cap is set, no function reads or writes anything. */
export interface Budgets {
  /** The caps on this spender's work now; none while none is set. */
  capsFor(spender: Spender): readonly Cap[];
  /**
   * Reserves what work has used and what its next call may use. Throws `GatewayError('no_price')` for a model without a
   * price under a cap in money, and `StoreError`.
   */
  reserve(
    work: BudgetWork,
    caps: readonly Cap[],
    used: readonly ModelUsage[],
    call: Omit<ModelUsage, 'modelMs'>,
  ): Promise<Reserved>;
  noteTold: BudgetStore['noteTold'];
  release: BudgetStore['release'];
  /**
   * Runs a call outside any turn within the caps; its usage is noted under the holder that it gets. Throws what it throws,
   * and `GatewayError('rate_limited')` at a cap.
   */
  within<T>(
    spender: Spender,
    call: Omit<ModelUsage, 'modelMs'>,
    run: (holder?: string) => Promise<T>,
  ): Promise<T>;
  /** The error of work that a cap has ended, or that no one may ask about. */
  usedUp(cap: Cap): GatewayError;
}
