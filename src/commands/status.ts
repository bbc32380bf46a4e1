/** `parley status`: the gateways that run with this home and database, their state, and what waits. */
import type { Store, HomeStore } from '../store/index.ts';
import packageFile from '../../package.json' with { type: 'json' };
import type { Config } from '../config.ts';
import { PARLEY } from '../protocol/texts/parley.ts';
import type { HealthReport } from '../protocol/gateway-api.ts';
import type { BackupState } from '../protocol/operator/backup.ts';
import type { LiveNode, NodeReportStore, NodeSettings } from '../protocol/operator/nodes.ts';
import type { PluginStatus } from '../protocol/operator/plugins.ts';
import type { DeadLetter } from '../protocol/store/lanes.ts';
import type { SessionStore } from '../protocol/store/ledger.ts';
import { escapeControls, oneLine } from '../lib/text.ts';
import { createHash } from 'node:crypto';
import type { Log } from '../protocol/log.ts';
import { pause } from '../lib/async/sleep.ts';
import type { Health } from '../ops/index.ts';
import type { LiveSettings } from '../settings/index.ts';
import { readArguments } from './arguments.ts';

const LETTERS_SHOWN = 5;
/** Width of what precedes a value, in characters. */
const WIDTH = 14;

/** Runs a parsed command: returns the text, and false when no gateway runs. Throws `StoreError`. */
export type StatusAct = (
  store: Store,
  config: { home: string },
) => Promise<{ text: string; isRunning: boolean }>;

interface Status {
  /** Of this program; each node reports its own. */
  version: string;
  home: string;
  store: Store['kind'];
  counts: Awaited<ReturnType<SessionStore['counts']>>;
  nodes: readonly LiveNode[];
  letters: readonly DeadLetter[];
}

/** Reads the arguments after `status`. Throws `GatewayError('usage')`. */
export function statusCommand(args: readonly string[]): StatusAct {
  const usage = `Expected: status [--json]. See: ${PARLEY} status --help`;
  const { json } = readArguments(args, usage, { options: { json: { type: 'boolean' } } }).values;
  const write = json === true ? jsonOf : textOf;
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
  const lease = `renews its lease within ${Math.ceil(leaseMs / 1_000)} s`;
  const head = line('node', `${instance}, version ${version}, ${lease}`);
  if (status === undefined) return [head, line('  page', 'not yet: it is starting, or of an older version')];
  const channels = Object.entries(status.channels).map(([name, { state, detail, notice }], index) => {
    const about = [detail, notice].filter((text) => text !== undefined).join(' ');
    const description = about === '' ? state : `${state}: ${oneLine(about)}`;
    return line(index === 0 ? '  channels' : '', escapeControls(`${name} ${description}`));
  });
  const backup = status.backup === undefined ? [] : [line('  backup', backupOf(status.backup))];
  const isLate = status.events?.state === 'degraded';
  const events = isLate ? [line('  events', `of other gateways may arrive late; see ${PARLEY} doctor`)] : [];
  const plugins = (status.plugins ?? []).map(({ name, version, state, detail }, index) => {
    const description = `${name} ${version} ${state}${detail === undefined ? '' : `: ${oneLine(detail)}`}`;
    return line(index === 0 ? '  plug-ins' : '', escapeControls(description));
  });
  const about = [line('  page', status.url), line('  model', modelOf(status.model))];
  return [head, ...about, ...events, ...backup, ...channels, ...plugins];
}

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

/** Variables that are specific to each machine. */
const OWN = new Set(['PORT', 'HOST', 'GATEWAY_HOME', 'LOG_LEVEL', 'DATABASE_URL', 'DATABASE_PASSWORD']);

/** Of a SHA-256 in base64url: enough to tell values apart, and too little to recognise a short one among many. */
const DIGEST_CHARS = 12;

/** How often the channels are checked, which costs nothing, in milliseconds. */
const LOOK_MS = 2_000;

/** How often the model servers are asked as well, in milliseconds. */
const ASK_MS = 30_000;

/** The version, and a digest of each variable and field. No value can be read from it. */
function nodeSettingsOf({ env, source }: Config): NodeSettings {
  const variables = Object.entries(env).filter(([name, value]) => !OWN.has(name) && value !== undefined);
  const fields = Object.entries(source.values).filter(([name]) => name !== '$schema');
  const digests = [...variables, ...fields].map(([name, value]): [string, string] => [name, digestOf(value)]);
  return { version: packageFile.version, digests: Object.fromEntries(digests) };
}

/** Tells the other gateways on this database what this one runs with, now and after changes. */
export function publishSettings(
  settings: LiveSettings<Config>,
  { nodes, instance }: HomeStore,
  log: Log,
): void {
  const publish = (config: Config): void => {
    nodes
      .saveNodeSettings(instance, nodeSettingsOf(config))
      .catch((error: unknown) => log.warn({ err: error }, 'node_settings_not_stored'));
  };
  publish(settings.current());
  settings.subscribe((next) => Promise.resolve(() => publish(next)));
}

function digestOf(value: unknown): string {
  // The password of an address may be short enough to be guessed from its digest.
  const text = JSON.stringify(value).replace(/(:\/\/[^\s:@/]*:)[^\s@/]+@/g, '$1@');
  return createHash('sha256').update(text).digest('base64url').slice(0, DIGEST_CHARS);
}

/** Stores the state of this gateway, and each change of it, until the signal aborts. Never rejects. */
export async function publishStatus(
  { nodes, instance }: { nodes: NodeReportStore; instance: string },
  url: string,
  health: Pick<Health, 'channels' | 'events'> & { report(): Promise<{ model: HealthReport['model'] }> },
  backups: { state(): BackupState | undefined },
  pluginsNow: () => readonly PluginStatus[],
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  let model: HealthReport['model'] | undefined;
  let askAt = 0;
  let saved = '';
  while (!signal.aborted) {
    if (performance.now() >= askAt) {
      askAt = performance.now() + ASK_MS;
      // In the background: a server that does not answer delays nothing. Reports never reject.
      void health.report().then((report) => (model = report.model));
    }
    const channels = health.channels();
    const plugins = pluginsNow();
    const more = { events: health.events(), backup: backups.state(), ...(plugins.length > 0 && { plugins }) };
    const status = { url, model, channels, ...more };
    const text = JSON.stringify(status);
    try {
      if (text !== saved) await nodes.saveNodeStatus(instance, status);
      saved = text;
    } catch (error) {
      // The next check tries again.
      if (!signal.aborted) log.warn({ err: error }, 'node_status_not_stored');
    }
    await pause(LOOK_MS, signal);
  }
}
