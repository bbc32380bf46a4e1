/** The command `/usage`: tokens and model time for users. */
import type { Command, CommandCall } from '../contracts/command.ts';
import { MAX_USAGE_DAYS } from '../contracts/usage.ts';
import type { UsageQuery, UsageStore, UsageSum } from '../contracts/usage.ts';

const DAY_MS = 86_400_000;
/** Days covered by the longer of the two sums of `/usage`. */
const LONG_DAYS = 30;

export interface UsageCommandDeps {
  usage: Pick<UsageStore, 'sum'>;
  /** Epoch milliseconds. */
  epochNow: () => number;
}

/** `/usage`: sums for this conversation and for the user, today and recently; owners also see all users. */
export function createUsageCommand({ usage, epochNow }: UsageCommandDeps): Command {
  return {
    name: 'usage',
    description: 'Tokens and model time for this chat, for you, and (owners) in total',
    async run(call) {
      const asked = questions(call, epochNow());
      const sums = await Promise.all(asked.map(({ query }) => usage.sum(query)));
      const lines = asked.map(({ what }, at) => `- ${what}: ${describe(sums[at])}`);
      const estimated = sums.some((sum) => sum.estimated)
        ? ['', '≈ = a server did not report all of it.']
        : [];
      return [...lines, ...estimated].join('\n');
    },
  };
}

/** Days are in UTC. */
function questions(
  { session, userId, owner }: CommandCall,
  now: number,
): { what: string; query: UsageQuery }[] {
  const to = new Date(now + 1);
  const today = new Date(Math.floor(now / DAY_MS) * DAY_MS);
  const longAgo = new Date(now - MAX_USAGE_DAYS * DAY_MS);
  const lately = new Date(now - LONG_DAYS * DAY_MS);
  const everyone = [
    { what: 'All users, today', query: { from: today, to } },
    { what: `All users, last ${LONG_DAYS} days`, query: { from: lately, to } },
  ];
  return [
    { what: 'This conversation', query: { from: longAgo, to, session } },
    { what: 'You today (UTC)', query: { from: today, to, userId } },
    { what: `You, last ${LONG_DAYS} days`, query: { from: lately, to, userId } },
    ...(owner ? everyone : []),
  ];
}

function describe(sum: UsageSum | undefined): string {
  if (sum === undefined || sum.answers === 0) return 'nothing';
  const { promptTokens, completionTokens, modelMs, answers, estimated } = sum;
  const about = estimated ? '≈ ' : '';
  const tokens = `${about}${count(promptTokens)} tokens read, ${about}${count(completionTokens)} written`;
  return `${count(answers)} ${answers === 1 ? 'answer' : 'answers'}, ${tokens}, ${duration(modelMs)} of model time`;
}

const count = (value: number): string => Math.round(value).toLocaleString('en-US');

function duration(ms: number): string {
  const seconds = ms / 1_000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const minutes = seconds / 60;
  return minutes < 60 ? `${minutes.toFixed(1)} min` : `${(minutes / 60).toFixed(1)} h`;
}
