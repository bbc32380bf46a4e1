/** What calls of speech and embeddings run in while no budget is set. */
import type { MeterCall } from '../../../src/protocol/agent/budgets.ts';

export const unmetered: MeterCall = (_call, run) => run();
