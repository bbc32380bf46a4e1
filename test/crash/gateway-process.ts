/** The gateway as run by `parley start`, with tools whose effects are counted externally: the victim of the crash tests. */
import cluster from 'node:cluster';
import { run } from '../../src/main.ts';
import { effectTools } from '../fakes/agent/effect-tools.ts';
import { endingTools } from '../fakes/agent/ending-tools.ts';

const risk = process.env['EFFECTS_RISK'] === 'dangerous' ? 'dangerous' : 'safe';
// Text in a group counts as untrusted: calls that reach outside the session would wait for a human.
const effects = effectTools(process.env['EFFECTS_URL'] ?? '', risk, 'session');
const count = Number(process.env['WORKERS'] ?? 1);
if (count > 1 && cluster.isPrimary) {
  const { superviseWorkers } = await import('../../src/commands/workers.ts');
  await superviseWorkers(count);
} else await run({ tools: [...effects, ...endingTools] });
