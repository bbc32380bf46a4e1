/** Public API of operations: health, metrics, event loop delay, usage, retention. */
export { channelHealth } from './channel-health.ts';
export { createHealth } from './health.ts';
export { startLoopMonitor } from './loop-delay.ts';
export { createMeters } from './metrics/meters.ts';
export { createMetrics } from './metrics/metrics.ts';
export { redactor } from './log.ts';
export type { Redactor } from './log.ts';
export { startRetention } from './retention.ts';
export { readHeaders, startTelemetry } from './telemetry/index.ts';
export type { TelemetryTarget } from './telemetry/index.ts';
export { announceState } from './state.ts';
export { createWhyCommand } from './trace/commands.ts';
export { createRefusalNotes } from './trace/refusal-notes.ts';
export { createTraces } from './trace/traces.ts';
export { startAddingUp } from './usage-sums.ts';
export { createUsageCommand } from './usage-command.ts';
export { meterUsage } from './usage-meter.ts';
