/** Traces for OpenTelemetry: the packages are loaded only if an address is set. */
import type { Log } from '../../protocol/log.ts';
import type { Telemetry, TelemetryTarget } from './spans.ts';

/** The variables that say where traces go; without an endpoint there are none. */
interface TelemetryEnvironment {
  OTEL_EXPORTER_OTLP_ENDPOINT?: string | undefined;
  OTEL_EXPORTER_OTLP_HEADERS?: string | undefined;
  OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true' | 'false';
}

/** Starts it; without an endpoint nothing is loaded, and the result does nothing. May throw any error of the exporter. */
export async function startTelemetry(
  env: TelemetryEnvironment,
  about: Pick<TelemetryTarget, 'version' | 'serverOf'>,
  log: Log,
): Promise<Telemetry> {
  const endpoint = env.OTEL_EXPORTER_OTLP_ENDPOINT;
  if (endpoint === undefined)
    return { ended: () => undefined, subagentEnded: () => undefined, close: () => Promise.resolve() };
  const headers = readHeaders(env.OTEL_EXPORTER_OTLP_HEADERS);
  const content = env.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT === 'true';
  const { openExport } = await import('./otlp.ts');
  return openExport({ ...about, endpoint, headers, content }, log);
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
