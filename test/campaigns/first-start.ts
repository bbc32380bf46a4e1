/** A gateway killed during its very first start, while it creates its tables (K18): it must start again, and answer. */
import { setTimeout as pause } from 'node:timers/promises';
import { answers, say } from '../crash/chat-actions.ts';
import { type Failure, gatewayAt } from '../crash/failure.ts';
import { startScenario } from '../crash/scenario.ts';
import { runOptions, type Setup } from './campaign.ts';

/** A first start takes about this long on a quiet machine, in milliseconds: the kill comes at some point during it. */
const FIRST_START_MS = 2_500;
/** How long an answer may take, in milliseconds. */
const ANSWERED_WITHIN_MS = 30_000;

/** In addition to the run's gateways: a fresh database, a kill at some point of its first start, a start, a message. */
export function killWhileMigrating(setup: Setup): Failure {
  return {
    name: 'K18',
    async strike({ random }) {
      const scenario = await startScenario({ postgresUrl: runOptions(setup).postgresUrl });
      try {
        const gateway = gatewayAt(scenario, 0);
        gateway.start();
        await pause(random() * FIRST_START_MS);
        await gateway.kill();
        const since = gateway.start();
        const url = await gateway.url();
        await say(url, 'first', 'Are you there?');
        const end = performance.now() + ANSWERED_WITHIN_MS;
        while ((await answers(url, 'first')).length === 0) {
          if (performance.now() > end)
            throw new Error('A gateway that was killed in its first start does not answer.');
          await pause(50);
        }
        return { since, measure: 'resume', struck: new Set() };
      } finally {
        await scenario.close();
      }
    },
  };
}
