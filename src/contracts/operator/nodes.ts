/** What the nodes of a database tell of themselves, and what can be seen of a database without changing it. */

import type { HealthReport } from '../gateway-api.ts';
import type { McpServerStatus } from '../mcp/servers.ts';

/** What a gateway started with. */
export interface NodeSettings {
  version: string;
  /** By the name of a variable or a field of `config.json`: a digest of its value, which tells nothing but whether two differ. */
  digests: Readonly<Record<string, string>>;
}

/** What a gateway says of itself while it runs, for operators. */
export interface NodeStatus {
  /** Where its page is. */
  url: string;
  /** Undefined until the model servers have been asked. */
  model?: HealthReport['model'] | undefined;
  channels: HealthReport['channels'];
}

/** A gateway whose lease has not ended. */
export interface LiveNode {
  instance: string;
  /** When it counts as dead unless it renews its lease, in milliseconds. */
  leaseMs: number;
  /** Undefined of one that has just begun to start. */
  version?: string | undefined;
  status?: NodeStatus | undefined;
}

/** The rows of running gateways. Throws only `StoreError`. `instance` names a home. */
export interface NodeReportStore {
  /** Replaces what this instance said before. */
  saveNodeSettings(instance: string, settings: NodeSettings): Promise<void>;
  /** Replaces what this instance said before. */
  saveNodeStatus(instance: string, status: NodeStatus): Promise<void>;
  /** The gateways that run now, by instance. */
  liveNodes(): Promise<LiveNode[]>;
}

/** A database as it was found. */
export type DatabaseReport =
  | {
      state: 'open';
      kind: 'postgres' | 'embedded';
      /** Of Postgres, such as `17.6`. */
      version: string;
      /** The database's clock minus this machine's, in milliseconds. */
      clockAheadMs: number;
      /** Half of what asking took, in milliseconds: how wrong `clockAheadMs` may be. */
      clockErrorMs: number;
      /** `behind`: the next start brings its tables up to date; `newer`: by a newer version of this program. */
      tables: 'none' | 'current' | 'behind' | 'newer' | 'unreleased';
      bytes: number;
      /** Gateways that run with it now. */
      nodes: readonly (NodeSettings & { instance: string })[];
      /** The model that was chosen where nothing names one. */
      model?: string | undefined;
      /** What the running gateways say of their MCP servers. */
      servers: readonly McpServerStatus[];
    }
  /** Embedded, and no gateway runs: `complete` may be opened, `missing` is made by the first start. */
  | { state: 'closed'; folder: 'missing' | 'complete' | 'incomplete'; bytes: number }
  /** The folder cannot be read; `code` is the system's, such as EACCES. */
  | { state: 'closed'; folder: 'unreadable'; code: string };
