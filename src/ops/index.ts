/** Public API of operations: health, metrics, event loop delay, usage, retention. */
export { createBudgets } from './budgets.ts';
export { checkRestore } from './home-files.ts';
export { createMaintenance } from './maintenance.ts';
export { announceState, channelHealth, createHealth, type Health } from './health.ts';
export { redactor } from './log.ts';
export type { Redactor } from './log.ts';
export { startLoopMonitor } from './loop-delay.ts';
export { startRetention } from './retention.ts';
export { startTelemetry } from './telemetry/index.ts';
export { createMeters } from './telemetry/meters.ts';
export { createMetrics } from './telemetry/metrics.ts';
export { createWhyCommand } from './trace/commands.ts';
export { createRefusalNotes, createTraces } from './trace/traces.ts';
export { createUsageCommand, meterUsage, startAddingUp } from './usage.ts';
