/** Budgets under kill -9: what the model is reported to have used is spent once in each of them, and never more than the cap. */
import { setTimeout as pause } from 'node:timers/promises';
import { runCampaign } from '../crash/campaign.ts';
import { killAt, type Stage } from '../crash/failure.ts';
import type { Verdict } from '../crash/judge/checker.ts';
import { budgetRows, openWork } from '../crash/rows.ts';
import { type Campaign, repeated, runOptions, scaled } from './campaign.ts';
import { approver } from './work.ts';

const SESSIONS = 6;
/** So low that every few answers wait for someone to add to it. */
const CAP = 40_000;
/** Longest wait for work after the last answer, such as titles, in milliseconds. */
const SETTLE_MS = 60_000;

/** Each budget has spent what is in the usage, and only calls outside turns that a kill has ended are still reserved. */
async function audit({ scenario }: Stage): Promise<Partial<Verdict>> {
  const end = performance.now() + SETTLE_MS;
  while ((await scenario.read(openWork)) > 0 && performance.now() < end) await pause(500);
  const { budgets, used, turnsHolding } = await scenario.read(budgetRows);
  const lost = turnsHolding.map((holder) => `${holder} has ended and still holds a reserve`);
  const storedTwice: string[] = [];
  for (const { key, spent, more } of budgets) {
    if (spent < used) lost.push(`${key}: ${spent} spent of ${used} used`);
    if (spent > used) storedTwice.push(`${key}: ${spent} spent of ${used} used`);
    if (spent > CAP + more) storedTwice.push(`${key}: ${spent} spent above ${CAP + more}`);
    if (more === 0) lost.push(`${key}: no one was asked for more, so nothing was tried`);
  }
  if (budgets.length < 2) lost.push(`only ${budgets.length} budgets were used`);
  return { lost, storedTwice };
}

export const budgets: Campaign = {
  name: 'budgets',
  about:
    '100 times kill -9 while answers and subagents wait at two budgets and are given more, on Postgres on two nodes',
  databases: ['postgres', 'embedded'],
  async run(setup) {
    const count = scaled(100, setup.share, 3);
    return await runCampaign({
      ...runOptions(setup),
      ...(setup.database === 'postgres' && { gateways: 2 }),
      environment: { EFFECTS_RISK: 'safe' },
      config: {
        tools: { enabled: ['spawn_agent'] },
        limits: { tokensPerDay: CAP, total: { tokensPerMonth: CAP } },
      },
      tools: [[['agent']], [['unsafe']], [['agent'], ['idempotent']]],
      messages: count * SESSIONS * 2,
      sessions: { http: SESSIONS },
      failures: repeated([killAt('busy'), killAt('T6'), killAt('any'), killAt('T2')], count),
      prepare: async (stage) => approver(stage).close,
      audit,
    });
  },
};
