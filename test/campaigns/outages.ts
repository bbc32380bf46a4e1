/** Both platforms and the model are down at once, for a long time, in every way a load balancer can produce. */
import { setTimeout as pause } from 'node:timers/promises';
import { runCampaign } from '../crash/campaign.ts';
import type { Failure } from '../crash/failure.ts';
import { arrive } from '../crash/moments.ts';
import type { Outage } from '../fakes/network/http-front.ts';
import { type Campaign, runOptions } from './campaign.ts';

/** How long each outage lasts at full size, and at least, in milliseconds. */
const AWAY_MS = 600_000;
const LEAST_AWAY_MS = 2_500;
const OUTAGES: Outage[] = ['json', 'page', 'reset', 'silent'];
/** Longest wait for a silent model in seconds. */
const MODEL_TIMEOUT_S = 20;
const MESSAGES_EACH = 18;

function outage(kind: Outage, awayMs: number): Failure {
  return {
    name: `${Math.round(awayMs / 1_000)} s ${kind}`,
    async strike(stage) {
      await arrive('busy', stage);
      const { fronts, discord } = stage.scenario;
      for (const front of fronts) front.fail(kind);
      discord.gateway.cut();
      await pause(awayMs);
      for (const front of fronts) front.fail(undefined);
      return { since: performance.now(), measure: 'resume' };
    },
  };
}

export const outages: Campaign = {
  name: 'outages',
  about: 'both platforms and the model away for 10 minutes: 502 as JSON, 502 as a page, resets, silence',
  databases: ['embedded', 'postgres'],
  // Users who asked while the model was down are notified.
  expected: ['failed'],
  run(setup) {
    const awayMs = Math.max(LEAST_AWAY_MS, AWAY_MS * setup.share);
    const timeout = String(Math.min(MODEL_TIMEOUT_S, Math.ceil(awayMs / 1_000)));
    return runCampaign({
      ...runOptions(setup),
      fronted: true,
      environment: { LLM_STREAM_FIRST_CHUNK_TIMEOUT: timeout, LLM_STREAM_CHUNK_TIMEOUT: timeout },
      messages: OUTAGES.length * MESSAGES_EACH,
      sessions: { http: 6, telegram: 3, discord: 3 },
      failures: OUTAGES.map((kind) => outage(kind, awayMs)),
    });
  },
};
