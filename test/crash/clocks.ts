/** Wall clocks of gateways that a run can set, each by a file. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { GatewayProcessOptions } from './gateways.ts';

const SHIFTED_CLOCK = new URL('shifted-clock.ts', import.meta.url);

/** How to start a gateway process with an adjustable clock; `at` counts them. */
export function withOwnClock(at: number, folder: string): GatewayProcessOptions {
  const preload = new URL(SHIFTED_CLOCK);
  preload.searchParams.set('file', clockFile(at, folder));
  return { nodeArguments: [`--import=${preload.href}`] };
}

/** Sets a gateway's clock, now and for its next starts, to this many milliseconds off the correct time. */
export function setClock(at: number, folder: string, offsetMs: number): void {
  writeFileSync(clockFile(at, folder), String(offsetMs));
}

function clockFile(at: number, folder: string): string {
  return path.join(folder, `clock${at}`);
}
