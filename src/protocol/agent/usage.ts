/** Usage: tokens and model time, one row per turn and model, summed for users and metrics. */
import type { SessionKey } from '../message.ts';
import { z } from 'zod';
import type { Usage } from './provider.ts';

/** Purpose of a call. */
export type UsagePurpose = 'turn' | 'plan' | 'subagent' | 'stateless' | (typeof OWN_PURPOSES)[number];

/** Purposes of calls that answer nobody: those that the gateway makes for itself, and replays. Speech and embeddings are noted under a budget only. */
export const OWN_PURPOSES = ['compression', 'title', 'facts', 'replay', 'speech', 'embedding'] as const;

/** Usage of one model. */
export interface ModelUsage extends Usage {
  model: string;
}

/** Usage that the end of a turn does not include: of a plan, a subagent, a compression, a title, facts or a stateless completion. */
export interface UsageNote extends ModelUsage {
  purpose: UsagePurpose;
  /** The turn it was made for: it counts toward the usage of that turn. */
  turnId?: string | undefined;
  session?: SessionKey | undefined;
  /** User id of the user being answered: `telegram:42`, `token:<id>`, `system`. */
  userId?: string | undefined;
  tokenId?: string | undefined;
  /** Under a budget: who has reserved for it; default: its turn. */
  holder?: string | undefined;
  settles?: Settlement | undefined;
}

/** Tokens, and millionths of the currency, of some usage. */
export interface Amounts {
  tokens: number;
  micros: number;
}

/** What work has used, for the caps that it holds reserves of. `ends`: it uses no more. */
export interface Settlement extends Amounts {
  holder: string;
  ends: boolean;
}

/** Groupings of a sum; days are in UTC. */
export const USAGE_GROUPS = ['day', 'session', 'user', 'channel', 'model', 'purpose'] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];

/** Selects the rows to sum. */
export interface UsageQuery {
  /** Inclusive. */
  from: Date;
  /** Exclusive. */
  to: Date;
  userId?: string | undefined;
  session?: SessionKey | undefined;
}

/** A sum. `estimated` = some tokens are estimates, because a server did not report them. */
export interface UsageSum {
  promptTokens: number;
  completionTokens: number;
  modelMs: number;
  /** Turns and stateless completions. */
  answers: number;
  estimated: boolean;
  /** Of models with a price; set where sums are reported. */
  cost?: Cost | undefined;
}

/** The sum of a group: a day (`2026-01-31`), session key, user id, channel, model or purpose; '' if a row names none. */
export interface UsageGroupSum extends UsageSum {
  key: string;
}

/** Most groups in one result: those with the most tokens, or the newest days. */
export const MAX_USAGE_GROUPS = 1_000;

/** Rows added to the stored sums at a time. */
export const ADDED_UP_ROWS = 10_000;

/** Longest span of a sum, in days. */
export const MAX_USAGE_DAYS = 366;

/** Sums by group, and in total. `more` = there are groups beyond `MAX_USAGE_GROUPS`. */
export interface UsageReport {
  groups: UsageGroupSum[];
  more: boolean;
  total: UsageSum;
}

/** Reads usage. Throws only `StoreError`. */
export interface UsageStore {
  sum(query: UsageQuery): Promise<UsageSum>;
  /** Days ascending, everything else by tokens, most first. */
  groups(query: Omit<UsageQuery, 'session'>, by: UsageGroup): Promise<Omit<UsageReport, 'total'>>;
  /** The sums by model, at most `MAX_USAGE_GROUPS`, most tokens first. */
  models(query: UsageQuery): Promise<UsageGroupSum[]>;
}

/** Maintains the hourly sums from which daily reports are read. Throws only `StoreError`. */
export interface UsageSums {
  /** Adds up to `ADDED_UP_ROWS` of the oldest rows that are in no sum, none while they are few; returns their number. */
  addUp(): Promise<number>;
}

/** Most models that may have a price. */
export const MAX_PRICED_MODELS = 200;

const price = z
  .number('must be a number: what a million tokens cost, 0 for a model that costs nothing')
  .min(0, 'must be 0 or more: what a million tokens cost')
  .max(1_000_000);

/** `prices` in `config.json`. */
export const pricesRule = z.strictObject({
  currency: z
    .string()
    .regex(/^[A-Z]{3}$/, 'must be a code of three letters, such as USD or EUR')
    .default('USD')
    .describe('code of the currency of all prices, such as `USD` or `EUR`'),
  models: z
    .record(
      z.string().min(1).max(200),
      z.strictObject({
        input: price.describe('price of a million input tokens'),
        output: price.describe('price of a million output tokens'),
      }),
    )
    .refine(
      (models) => Object.keys(models).length <= MAX_PRICED_MODELS,
      `may name at most ${MAX_PRICED_MODELS} models`,
    )
    .prefault({})
    .describe(
      'prices by the name of the model as `/model` lists it, such as `openai/gpt-5`; `*` = all others; calls of models without one show no cost, and do not begin under a budget in money',
    ),
});

/** Prices of models, all in one currency. */
export type Prices = z.output<typeof pricesRule>;

/** An amount of money. */
export interface Cost {
  amount: number;
  currency: string;
}

/** The price of a model, or else that of all others. */
export function priceOf({ models }: Prices, model: string): Prices['models'][string] | undefined {
  return Object.hasOwn(models, model) ? models[model] : Object.hasOwn(models, '*') ? models['*'] : undefined;
}

/** What these tokens cost; undefined if the model has no price. */
export function amountOf(
  prices: Prices,
  model: string,
  { promptTokens, completionTokens }: Pick<Usage, 'promptTokens' | 'completionTokens'>,
): number | undefined {
  const modelPrice = priceOf(prices, model);
  return modelPrice && (promptTokens * modelPrice.input + completionTokens * modelPrice.output) / 1_000_000;
}

/** The sum of amounts, in their currency; undefined if none is known. */
export function costOf({ currency }: Prices, amounts: readonly (number | undefined)[]): Cost | undefined {
  const sums = amounts.filter((amount) => amount !== undefined);
  return sums.length === 0 ? undefined : { amount: sums.reduce((sum, amount) => sum + amount, 0), currency };
}

/** What the usage of these models cost, for those that have prices. */
export function costOfModels(
  prices: Prices,
  models: readonly (Pick<Usage, 'promptTokens' | 'completionTokens'> & { key: string })[],
): Cost | undefined {
  return costOf(
    prices,
    models.map((sum) => amountOf(prices, sum.key, sum)),
  );
}

/** An amount as written in this language: `$0.0021`. Small ones keep two significant digits. */
export function costText({ amount, currency }: Cost, language: string): string {
  const digits = amount > 0 && amount < 1 ? { maximumSignificantDigits: 2 } : { maximumFractionDigits: 2 };
  return new Intl.NumberFormat(language === 'en' ? 'en-US' : language, {
    style: 'currency',
    currency,
    ...digits,
  }).format(amount);
}
