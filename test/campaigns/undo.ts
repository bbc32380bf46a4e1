/** Turns that are undone with their files and notes, under kill -9 of the turns and of the undos. */
import { runUndos } from '../crash/undo/run.ts';
import { type Campaign, runOptions, scaled } from './campaign.ts';

const SESSIONS = 4;

export const undo: Campaign = {
  name: 'undo',
  about:
    '100 times kill -9 while turns write files and notes, and while these turns are undone: everything is as before, or as a hand left it, and an undo is done once',
  databases: ['postgres', 'embedded'],
  run: (setup) => runUndos({ ...runOptions(setup), sessions: SESSIONS, rounds: scaled(50, setup.share, 3) }),
};
