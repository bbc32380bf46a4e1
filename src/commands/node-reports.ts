/** What a gateway reports to the others: digests of its settings, which show the ones that differ, and its state. */
import { createHash } from 'node:crypto';
import packageFile from '../../package.json' with { type: 'json' };
import type { Config } from '../config.ts';
import type { HealthReport } from '../protocol/gateway-api.ts';
import type { BackupState } from '../protocol/operator/backup.ts';
import type { Log } from '../protocol/log.ts';
import type { NodeReportStore, NodeSettings } from '../protocol/operator/nodes.ts';
import { pause } from '../lib/async/sleep.ts';
import type { LiveSettings } from '../settings/index.ts';
import type { HomeStore } from '../store/open-store.ts';

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
export function tellSettings(settings: LiveSettings<Config>, { nodes, instance }: HomeStore, log: Log): void {
  const tell = (config: Config): void => {
    nodes
      .saveNodeSettings(instance, nodeSettingsOf(config))
      .catch((error: unknown) => log.warn({ err: error }, 'node_settings_not_stored'));
  };
  tell(settings.current());
  settings.subscribe((next) => Promise.resolve(() => tell(next)));
}

function digestOf(value: unknown): string {
  // The password of an address may be short enough to be guessed from its digest.
  const text = JSON.stringify(value).replace(/(:\/\/[^\s:@/]*:)[^\s@/]+@/g, '$1@');
  return createHash('sha256').update(text).digest('base64url').slice(0, DIGEST_CHARS);
}

/** Whose state it is, and where it is kept. */
export interface NodeStatusParts {
  store: { nodes: Pick<NodeReportStore, 'saveNodeStatus'>; instance: string };
  url: string;
  health: { report(): Promise<Pick<HealthReport, 'model'>>; channels(): HealthReport['channels'] };
  backups: { state(): BackupState | undefined };
  log: Log;
}

/** Stores the state of this gateway, and each change of it, until the signal aborts. Never rejects. */
export async function tellStatus(
  { store: { nodes, instance }, url, health, backups, log }: NodeStatusParts,
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
    const status = { url, model, channels: health.channels(), backup: backups.state() };
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
