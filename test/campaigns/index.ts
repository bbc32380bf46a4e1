/** Every campaign, in the order of `npm run test:campaign -- --help`. */
import { asks } from './asks.ts';
import { budgets } from './budgets.ts';
import type { Campaign } from './campaign.ts';
import { embedded } from './embedded.ts';
import { kills } from './kills.ts';
import { links } from './links.ts';
import { nodes } from './nodes.ts';
import { outages } from './outages.ts';
import { plans } from './plans.ts';
import { points } from './points.ts';
import { failovers, postgres } from './postgres.ts';
import { powerCuts } from './power-cuts.ts';
import { processes } from './processes.ts';
import { soak } from './soak.ts';
import { undo } from './undo.ts';
import { work } from './work.ts';
import { workers } from './workers.ts';

export const campaigns: readonly Campaign[] = [
  kills,
  points,
  nodes,
  postgres,
  failovers,
  embedded,
  powerCuts,
  processes,
  outages,
  work,
  asks,
  budgets,
  plans,
  links,
  undo,
  workers,
  soak,
];
