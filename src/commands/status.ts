/** `parley status`: the gateways that run with this home and database, their state, and what waits. */
import { parseArgs } from 'node:util';
import packageFile from '../../package.json' with { type: 'json' };
import type { Config } from '../config.ts';
import { GatewayError } from '../protocol/errors.ts';
import { PARLEY } from '../protocol/texts/parley.ts';
import type { HealthReport } from '../protocol/gateway-api.ts';
import type { BackupState } from '../protocol/operator/backup.ts';
import type { LiveNode } from '../protocol/operator/nodes.ts';
import type { DeadLetter } from '../protocol/store/lanes.ts';
import type { SessionStore } from '../protocol/store/ledger.ts';
import { escapeControls, oneLine } from '../lib/text.ts';
import type { HomeStore } from '../store/open-store.ts';

/** Dead letters that are named, newest first. */
const LETTERS_SHOWN = 5;
/** Width of what precedes a value, in characters. */
const WIDTH = 14;

/** Runs a parsed command: returns the text, and false when no gateway runs. Throws `StoreError`. */
export type StatusAct = (
  store: Pick<HomeStore, 'ledger' | 'lanes' | 'nodes' | 'kind'>,
  config: Pick<Config, 'home'>,
) => Promise<{ text: string; isRunning: boolean }>;

interface Status {
  /** Of this program; each node reports its own. */
  version: string;
  home: string;
  store: HomeStore['kind'];
  counts: Awaited<ReturnType<SessionStore['counts']>>;
  nodes: readonly LiveNode[];
  letters: readonly DeadLetter[];
}

/** Reads the arguments after `status`. Throws `GatewayError('usage')`. */
export function statusCommand(args: readonly string[]): StatusAct {
  const write = readOptions(args) ? jsonOf : textOf;
  return async ({ ledger, lanes, nodes, kind }, { home }) => {
    const [counts, live, letters] = await Promise.all([
      ledger.counts(),
      nodes.liveNodes(),
      lanes.deadLetters(LETTERS_SHOWN),
    ]);
    const status = { version: packageFile.version, home, store: kind, counts, nodes: live, letters };
    return { text: write(status), isRunning: live.length > 0 };
  };
}

/** True for `--json`. */
function readOptions(args: readonly string[]): boolean {
  try {
    return parseArgs({ args: [...args], options: { json: { type: 'boolean', default: false } } }).values.json;
  } catch (cause) {
    throw new GatewayError('usage', `Expected: status [--json]. See: ${PARLEY} status --help`, { cause });
  }
}

function jsonOf({ version, home, store, counts, nodes, letters }: Status): string {
  const { sessions, pending, running, deadLetters } = counts;
  const newest = letters.map(({ lane, seq, error }) => ({ id: `${lane}#${seq}`, error }));
  const dead = { count: deadLetters, newest };
  return JSON.stringify(
    { version, home, store, sessions, pending, running, deadLetters: dead, nodes },
    null,
    2,
  );
}

function textOf({ version, home, store, counts, nodes, letters }: Status): string {
  const none = `none is running with this home and database; ${PARLEY} start runs one`;
  return [
    line('gateways', nodes.length === 0 ? none : `${nodes.length} running`),
    line('version', version),
    line('home', home),
    line('store', store),
    line('sessions', counts.sessions),
    line('pending', counts.pending),
    line('running', counts.running),
    line('dead letters', counts.deadLetters),
    ...letters.map(({ lane, seq, error }) => `  ${escapeControls(`${lane}#${seq}: ${oneLine(error)}`)}`),
    ...nodes.flatMap((node) => ['', ...nodeLines(node)]),
  ].join('\n');
}

function nodeLines({ instance, version = 'unknown', leaseMs, status }: LiveNode): string[] {
  const lease = `counts as dead in ${Math.ceil(leaseMs / 1_000)} s unless it renews its lease`;
  const head = line('node', `${instance}, version ${version}, ${lease}`);
  if (status === undefined) return [head, line('  page', 'not yet: it is starting, or of an older version')];
  const channels = Object.entries(status.channels).map(([name, { state, detail, notice }], index) => {
    const about = [detail, notice].filter((text) => text !== undefined).join(' ');
    const said = about === '' ? state : `${state}: ${oneLine(about)}`;
    return line(index === 0 ? '  channels' : '', escapeControls(`${name} ${said}`));
  });
  const backup = status.backup === undefined ? [] : [line('  backup', backupOf(status.backup))];
  return [head, line('  page', status.url), line('  model', modelOf(status.model)), ...backup, ...channels];
}

/** The model that answers, and what is missing or replaced. */
function modelOf(model: HealthReport['model'] | undefined): string {
  if (model === undefined) return 'being asked';
  const { state, name, detail } = model;
  const about = detail === undefined ? '' : escapeControls(oneLine(detail));
  if (state === 'up' && name !== undefined) return escapeControls(name);
  return [name === undefined ? 'none answers' : escapeControls(name), about].filter(Boolean).join(': ');
}

/** The newest daily backup of that home, and what keeps the gateway from writing the next. */
function backupOf({ at, error }: BackupState): string {
  const newest = at === undefined ? 'none yet' : `daily, the last at ${at}`;
  return escapeControls(error === undefined ? newest : `${newest}; failed: ${oneLine(error)}`);
}

function line(name: string, value: string | number): string {
  return `${name.padEnd(WIDTH)}${value}`;
}
