/** A turn that has only what a test reads of it. */
import type { Turn } from '../../../src/agent/turn/turn-state.ts';

export function partialTurn(parts: Partial<Turn>): Turn {
  return parts as Turn;
}
