/** What the nodes of a database report about themselves, and what can be read from a database without changing it. */

import type { BackupState } from './backup.ts';
import type { HealthReport } from '../gateway-api.ts';
import type { PluginStatus } from './plugins.ts';
import type { ModelOmissions } from '../agent/omissions.ts';
import type { McpServerStatus } from '../agent/tool.ts';

/** What a gateway started with. */
export interface NodeSettings {
  version: string;
  /** By variable or field of `config.json`: a digest that reveals only whether two values differ. */
  digests: Readonly<Record<string, string>>;
}

/** What a running gateway reports about itself, for operators. */
export interface NodeStatus {
  url: string;
  /** Undefined until the model servers have been asked. */
  model?: HealthReport['model'] | undefined;
  channels: HealthReport['channels'];
  /** Undefined from an older version. */
  events?: HealthReport['events'];
  /** Undefined without plug-ins. */
  plugins?: readonly PluginStatus[] | undefined;
  /** Undefined where daily backups are off. */
  backup?: BackupState | undefined;
}

/** A gateway whose lease has not expired. */
export interface LiveNode {
  instance: string;
  /** When it counts as dead unless it renews its lease, in milliseconds. */
  leaseMs: number;
  /** Undefined for one that is still starting. */
  version?: string | undefined;
  status?: NodeStatus | undefined;
}

/** The rows of running gateways. Throws only `StoreError`. `instance` names a home. */
export interface NodeReportStore {
  /** Replaces this instance's previous report. */
  saveNodeSettings(instance: string, settings: NodeSettings): Promise<void>;
  /** Replaces this instance's previous report. */
  saveNodeStatus(instance: string, status: NodeStatus): Promise<void>;
  liveNodes(): Promise<LiveNode[]>;
}

/** A database as it was found. */
export type DatabaseReport =
  | {
      state: 'open';
      kind: 'postgres' | 'embedded';
      /** The version of Postgres, such as `17.6`. */
      version: string;
      /** The database's clock minus this machine's, in milliseconds. */
      clockAheadMs: number;
      /** Half the duration of the query, in milliseconds: the possible error of `clockAheadMs`. */
      clockErrorMs: number;
      /** `behind`: the next start migrates its tables; `newer`: made by a newer version of this program. */
      tables: 'none' | 'current' | 'behind' | 'newer' | 'unreleased';
      bytes: number;
      nodes: readonly (NodeSettings & { instance: string })[];
      model?: string | undefined;
      servers: readonly McpServerStatus[];
      omissions: readonly ModelOmissions[];
      backups: readonly BackupState[];
      /** Gateways that get live events of the others late. */
      lateEvents: number;
    }
  /** Embedded, and no gateway is running: `complete` may be opened, `missing` is created by the first start. */
  | { state: 'closed'; folder: 'missing' | 'complete' | 'incomplete'; bytes: number }
  /** The folder cannot be read; `code` is the system's, such as EACCES. */
  | { state: 'closed'; folder: 'unreadable'; code: string };
