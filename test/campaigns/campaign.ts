/** What a named campaign is, and the sizes it runs in. */
import type { CampaignOptions, Outcome } from '../crash/campaign.ts';
import type { Verdict } from '../crash/judge/checker.ts';
import type { Bars } from '../crash/judge/report.ts';

export type DatabaseKind = 'postgres' | 'embedded';

/** How a campaign is run. */
export interface Setup {
  database: DatabaseKind;
  /** A Postgres server on which databases can be created. */
  postgresUrl: string;
  /** The share of the full size, above 0 and at most 1. */
  share: number;
  seed: number;
  /** Reports progress, for people waiting. */
  progress?: ((line: string) => void) | undefined;
}

export interface Campaign {
  name: string;
  /** One sentence for the list. */
  about: string;
  databases: readonly DatabaseKind[];
  /** What would let it run on this machine, as an instruction; undefined when it can. */
  missing?: () => string | undefined;
  /** Kinds of violation that its failures are meant to cause, such as failures reported to users. */
  expected?: readonly (keyof Verdict)[];
  /** Further measures; a missed bar is reported, and with `--bars` it is a violation. */
  bars?: Bars;
  run(setup: Setup): Promise<Outcome>;
}

/** Longest time after a kill until the model is asked again, in 95 of 100 cases, in milliseconds. */
export const RESUME_MS = 2_000;

/** This share of `full`, at least `least`. */
export function scaled(full: number, share: number, least = 1): number {
  return Math.min(full, Math.max(least, Math.round(full * share)));
}

/** This many entries, cycling through `cycle`. */
export function repeated<T>(cycle: readonly T[], count: number): T[] {
  return Array.from({ length: count }, (_, at) => cycle[at % cycle.length]!);
}

/** What every campaign passes on to its run. */
export function runOptions(setup: Setup): Pick<CampaignOptions, 'seed' | 'postgresUrl' | 'progress'> {
  const { database, postgresUrl, seed, progress } = setup;
  return database === 'embedded' ? { seed, progress } : { seed, progress, postgresUrl };
}
