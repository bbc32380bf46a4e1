/** Traces for OpenTelemetry: the packages are loaded only if an address is set. */
import type { Log } from '../../protocol/log.ts';
import type { Telemetry, TelemetryTarget } from './spans.ts';

export type { TelemetryTarget } from './spans.ts';

/** Starts it; without a target nothing is loaded, and the result does nothing. */
export async function startTelemetry(target: TelemetryTarget | undefined, log: Log): Promise<Telemetry> {
  if (target === undefined)
    return { turn: () => undefined, subagent: () => undefined, close: () => Promise.resolve() };
  const { openExport } = await import('./otlp.ts');
  return openExport(target, log);
}

/** `name=value,other=value`, the format of `OTEL_EXPORTER_OTLP_HEADERS`; values are percent-encoded. Never throws. */
export function readHeaders(text: string | undefined): Record<string, string> {
  const pairs = (text ?? '').split(',').flatMap((pair) => {
    const at = pair.indexOf('=');
    return at <= 0 ? [] : [[pair.slice(0, at).trim(), decoded(pair.slice(at + 1).trim())] as const];
  });
  return Object.fromEntries(pairs);
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    // A literal percent sign.
    return value;
  }
}
