/** Tokens and model time: the command `/usage`, what is counted of them, and the stored sums of hours. */
import {
  ADDED_UP_ROWS,
  type Cost,
  costOfModels,
  costText,
  MAX_USAGE_DAYS,
  type Prices,
  type UsagePurpose,
  type UsageQuery,
  type UsageStore,
  type UsageSum,
  type UsageSums,
} from '../protocol/agent/usage.ts';
import { amountText, type BudgetReport, capText, fromUnit, resetText } from '../protocol/agent/budgets.ts';
import type { LiveBudgets } from './budgets.ts';
import type { Command, CommandCall } from '../protocol/command.ts';
import type { Say } from '../protocol/texts/say.ts';
import type { Ledger } from '../protocol/store/ledger.ts';
import type { Usage } from '../protocol/agent/provider.ts';
import { toGatewayError } from '../protocol/errors.ts';
import type { Log } from '../protocol/log.ts';

const DAY_MS = 86_400_000;
/** Days covered by the longer of the two sums in `/usage`. */
const LONG_DAYS = 30;
/** Budgets in one reply, the largest first; the page has more. */
const MAX_BUDGET_LINES = 20;

/** `/usage`: sums for this conversation and for the user, today and recently; owners also see all users. `epochNow` in milliseconds. */
export function createUsageCommand(
  usage: UsageStore,
  prices: () => Prices,
  epochNow: () => number,
  budgets: Pick<LiveBudgets, 'report'>,
): Command {
  return {
    name: 'usage',
    personal: true,
    description: 'about.usage',
    async run(call) {
      const lines = questions(call, epochNow());
      const sums = await Promise.all(lines.map(({ query }) => usage.sum(query)));
      const { say } = call;
      const rates = prices();
      const costs =
        Object.keys(rates.models).length === 0
          ? []
          : await Promise.all(lines.map(async ({ query }) => costOfModels(rates, await usage.models(query))));
      const texts = lines.map(({ what: label }, at) =>
        say('usage.line', { what: label, sum: `${describe(sums[at], say)}${costSuffix(costs[at], say)}` }),
      );
      const reports = await budgets.report(call.owner ? 'all' : { person: call.userId });
      texts.push(...reports.slice(0, MAX_BUDGET_LINES).map((budget) => budgetLine(budget, say)));
      const estimated = sums.some((sum) => sum.estimated) ? ['', say('usage.estimated')] : [];
      return [...texts, ...estimated].join('\n');
    },
  };
}

/** A budget with what is spent and reserved of it. */
function budgetLine(budget: BudgetReport, say: Say): string {
  const [cap, expense, reserved] = [budget.cap, budget.spent, budget.reserved].map((amount) =>
    fromUnit(budget, amount),
  );
  return say('usage.budget', {
    ...capText(budget, cap ?? 0, say.language),
    spent: amountText(budget, expense ?? 0, say.language),
    held: amountText(budget, reserved ?? 0, say.language),
    reset: resetText(budget),
  });
}

/** Days are in UTC. */
function questions(
  { session, userId, owner, say }: CommandCall,
  now: number,
): { what: string; query: UsageQuery }[] {
  const to = new Date(now + 1);
  const today = new Date(Math.floor(now / DAY_MS) * DAY_MS);
  const longAgo = new Date(now - MAX_USAGE_DAYS * DAY_MS);
  const lately = new Date(now - LONG_DAYS * DAY_MS);
  const everyone = [
    { what: say('usage.everyone_today'), query: { from: today, to } },
    { what: say('usage.everyone', { days: LONG_DAYS }), query: { from: lately, to } },
  ];
  return [
    { what: say('usage.conversation'), query: { from: longAgo, to, session } },
    { what: say('usage.you_today'), query: { from: today, to, userId } },
    { what: say('usage.you', { days: LONG_DAYS }), query: { from: lately, to, userId } },
    ...(owner ? everyone : []),
  ];
}

function describe(sum: UsageSum | undefined, say: Say): string {
  if (sum === undefined || sum.answers === 0) return say('usage.nothing');
  const { promptTokens, completionTokens, modelMs, answers, estimated } = sum;
  const about = estimated ? '≈ ' : '';
  const number = numbersIn(say);
  return say('usage.sum', {
    count: answers,
    answers: number(answers),
    read: `${about}${number(promptTokens)}`,
    written: `${about}${number(completionTokens)}`,
    time: duration(modelMs),
  });
}

function costSuffix(cost: Cost | undefined, say: Say): string {
  return cost === undefined ? '' : `, ${costText(cost, say.language)}`;
}

const numbersIn =
  ({ language }: Say) =>
  (value: number): string =>
    Math.round(value).toLocaleString(language === 'en' ? 'en-US' : language);

function duration(ms: number): string {
  const seconds = ms / 1_000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const minutes = seconds / 60;
  return minutes < 60 ? `${minutes.toFixed(1)} min` : `${(minutes / 60).toFixed(1)} h`;
}

/** The same ledger; `count` is called with what it has stored. */
export function meterUsage(
  ledger: Ledger,
  count: (model: string, purpose: UsagePurpose, usage: Usage) => void,
): Ledger {
  return {
    ...ledger,
    async finishTurn(fence, finish) {
      const step = await ledger.finishTurn(fence, finish);
      for (const model of finish.usage) count(model.model, 'turn', model);
      return step;
    },
    async noteUsage(note) {
      await ledger.noteUsage(note);
      count(note.model, note.purpose, note);
    },
    async storePlan(fence, turnId, planning) {
      await ledger.storePlan(fence, turnId, planning);
      count(planning.model, 'plan', planning.usage);
    },
  };
}

const EVERY_MS = 60_000;

/** The pause between two full batches, which leaves the database to others. */
const MORE_AFTER_MS = 200;

/**
 * Adds new rows of usage to the stored sums of hours until the signal aborts, so that reports read few rows. A failure
 * is logged, and the next round tries again.
 */
export function startAddingUp(usage: UsageSums, log: Log, signal: AbortSignal): void {
  let timer: NodeJS.Timeout | undefined;
  const plan = (ms: number): void => {
    if (!signal.aborted) timer = setTimeout(() => void round(), ms).unref();
  };
  const round = async (): Promise<void> => {
    let count = 0;
    try {
      count = await usage.addUp();
    } catch (error) {
      if (!signal.aborted) log.warn({ err: toGatewayError(error) }, 'usage_not_added_up');
    }
    plan(count === ADDED_UP_ROWS ? MORE_AFTER_MS : EVERY_MS);
  };
  signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  plan(MORE_AFTER_MS);
}
