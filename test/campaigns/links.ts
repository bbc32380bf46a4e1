/** Chats that are randomly linked and separated, with messages on every side, under kill -9. */
import { runLinks } from '../crash/links/run.ts';
import { type Campaign, runOptions, scaled } from './campaign.ts';

export const links: Campaign = {
  name: 'links',
  about:
    '60 times kill -9 while private chats, groups, channels and a thread of all networks and a page session are linked, separated and written in; on Postgres of one of two nodes, or of both',
  databases: ['postgres', 'embedded'],
  run: (setup) =>
    runLinks({
      ...runOptions(setup),
      ...(setup.database === 'postgres' && { gateways: 2 }),
      rings: scaled(4, setup.share, 1),
      kills: scaled(60, setup.share, 1),
      stepsPerKill: scaled(10, setup.share, 5),
    }),
};
