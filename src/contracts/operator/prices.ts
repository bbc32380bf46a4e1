/** What model calls cost: configured prices, and the resulting sums. */
import { z } from 'zod';
import type { Usage } from '../model/provider.ts';

/** Most models that may have a price. */
export const MAX_PRICED_MODELS = 200;

const price = z.number().min(0).max(1_000_000);

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
        input: price.describe('price of a million tokens that the model reads'),
        output: price.describe('price of a million tokens that the model writes'),
      }),
    )
    .refine(
      (models) => Object.keys(models).length <= MAX_PRICED_MODELS,
      `may name at most ${MAX_PRICED_MODELS} models`,
    )
    .prefault({})
    .describe(
      'prices by the name of the model as `/model` lists it, such as `openai/gpt-5`; calls of other models show no cost',
    ),
});

/** Prices of models, all in one currency. */
export type Prices = z.output<typeof pricesRule>;

/** An amount of money. */
export interface Cost {
  amount: number;
  currency: string;
}

/** What these tokens cost; undefined if the model has no price. */
export function amountOf(
  { models }: Prices,
  model: string,
  { promptTokens, completionTokens }: Pick<Usage, 'promptTokens' | 'completionTokens'>,
): number | undefined {
  const found = Object.hasOwn(models, model) ? models[model] : undefined;
  return found && (promptTokens * found.input + completionTokens * found.output) / 1_000_000;
}

/** The sum of amounts, in their currency; undefined if none is known. */
export function costOf({ currency }: Prices, amounts: readonly (number | undefined)[]): Cost | undefined {
  const known = amounts.filter((amount) => amount !== undefined);
  return known.length === 0
    ? undefined
    : { amount: known.reduce((sum, amount) => sum + amount, 0), currency };
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
