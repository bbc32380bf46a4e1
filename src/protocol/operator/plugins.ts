/** What a gateway reports about its plug-ins. */

/**
 * A plug-in of a running gateway. `idle`: nobody has needed it yet; `waiting`: its process ended, and is started again;
 * `refused`: not before the gateway's next start.
 */
export interface PluginStatus {
  name: string;
  label: string;
  version: string;
  state: 'idle' | 'starting' | 'up' | 'waiting' | 'refused' | 'closed';
  /** Why it does not run. */
  detail?: string | undefined;
}
