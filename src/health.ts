/** How the house and its doors are doing, for `/readyz`, the page and `parley status`. */

/** How a channel is doing, for `/readyz` and `parley status`. */
export interface ChannelHealth {
  state: 'off' | 'starting' | 'up' | 'degraded' | 'dead';
  /** What is wrong and what mends it; absent when `up`. */
  detail?: string;
}

/** Answered without a token: it holds no secret and no name of a person. */
export interface HealthReport {
  ready: boolean;
  store: 'up' | 'down';
  model: { state: 'up' | 'down'; detail?: string };
  channels: Record<string, ChannelHealth>;
  /** `degraded` while a file of a profile cannot be used and the last good one is. */
  profiles: { state: 'up' | 'degraded'; detail?: string };
  pending: number;
  running: number;
  version: string;
  /** `npm run demo`: answers come from a script, and the page says so. */
  demo: boolean;
}
