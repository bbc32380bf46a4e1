/** Running plans under kill -9: every plan is created once, runs to its end, and no step's effect happens twice. */
import { runCampaign } from '../crash/campaign.ts';
import type { Verdict } from '../crash/judge/checker.ts';
import { killAt, type Stage } from '../crash/failure.ts';
import { PLANNED } from '../crash/planned.ts';
import { plansOfTurns } from '../crash/rows.ts';
import { readQuestion } from '../crash/script.ts';
import { type Campaign, repeated, RESUME_MS, runOptions, scaled } from './campaign.ts';

const SESSIONS = 12;
const PLANS = [[[PLANNED]]];

/** Each question that asks for a plan has exactly one, which has ended. */
async function audit({ scenario, people }: Stage): Promise<Partial<Verdict>> {
  const rows = await scenario.read(plansOfTurns);
  const byId = new Map(rows.map((row) => [readQuestion(row.question)?.id, row]));
  const wanted = people.accepted.filter(({ text }) => readQuestion(text)?.rounds.flat().includes(PLANNED));
  const lost = wanted.flatMap(({ id }) => {
    const row = byId.get(id);
    if (row === undefined) return [`${id}: no plan`];
    return row.open > 0 ? [`${id}: its plan has not ended`] : [];
  });
  const storedTwice = rows.flatMap(({ question, plans }) =>
    plans > 1 ? [`${question}: ${plans} plans`] : [],
  );
  return { lost, storedTwice };
}

export const plans: Campaign = {
  name: 'plans',
  about: '200 times kill -9 while plans of three steps with effects are made and carried out',
  databases: ['postgres', 'embedded'],
  bars: { resumeMs: RESUME_MS },
  async run(setup) {
    const count = scaled(200, setup.share, 3);
    return await runCampaign({
      ...runOptions(setup),
      config: { turns: { mode: 'agentic' } },
      profile: { planningEnabled: true, enabledTools: ['unsafe_probe', 'idempotent_probe', 'pure_probe'] },
      tools: PLANS,
      messages: count * 12,
      sessions: { http: SESSIONS },
      failures: repeated((['busy', 'T4', 'any', 'T2', 'T3', 'T6'] as const).map(killAt), count),
      audit,
    });
  },
};
