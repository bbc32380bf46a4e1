/** The texts in English, which every other language falls back to. */
import { about } from './english/about.ts';
import { access } from './english/access.ts';
import { approvals } from './english/approvals.ts';
import { channels } from './english/channels.ts';
import { commands } from './english/commands.ts';
import { delivery } from './english/delivery.ts';
import { failures } from './english/failures.ts';
import { plans } from './english/plans.ts';
import { settings } from './english/settings.ts';
import { surfaces } from './english/surfaces.ts';
import { turns } from './english/turns.ts';

export const ENGLISH = {
  ...about,
  ...access,
  ...approvals,
  ...channels,
  ...commands,
  ...delivery,
  ...failures,
  ...plans,
  ...settings,
  ...surfaces,
  ...turns,
} as const;
