/** The command `/usage`: tokens and model time for users. */
import {
  type Cost,
  costOfModels,
  costText,
  MAX_USAGE_DAYS,
  type Prices,
  type UsageQuery,
  type UsageStore,
  type UsageSum,
} from '../protocol/agent/usage.ts';
import type { Command, CommandCall } from '../protocol/command.ts';
import type { Say } from '../protocol/texts/say.ts';

const DAY_MS = 86_400_000;
/** Days covered by the longer of the two sums in `/usage`. */
const LONG_DAYS = 30;

export interface UsageCommandDeps {
  usage: Pick<UsageStore, 'sum' | 'models'>;
  /** What models cost now. */
  prices: () => Prices;
  /** Epoch milliseconds. */
  epochNow: () => number;
}

/** `/usage`: sums for this conversation and for the user, today and recently; owners also see all users. */
export function createUsageCommand({ usage, prices, epochNow }: UsageCommandDeps): Command {
  return {
    name: 'usage',
    personal: true,
    description: 'about.usage',
    async run(call) {
      const asked = questions(call, epochNow());
      const sums = await Promise.all(asked.map(({ query }) => usage.sum(query)));
      const { say } = call;
      const known = prices();
      const priced = Object.keys(known.models).length > 0;
      const costs = priced
        ? await Promise.all(asked.map(async ({ query }) => costOfModels(known, await usage.models(query))))
        : [];
      const lines = asked.map(({ what }, at) =>
        say('usage.line', {
          what,
          sum: `${describe(sums[at], say)}${costSuffix(costs[at], say)}`,
        }),
      );
      const estimated = sums.some((sum) => sum.estimated) ? ['', say('usage.estimated')] : [];
      return [...lines, ...estimated].join('\n');
    },
  };
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
