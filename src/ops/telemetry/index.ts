/** Traces for OpenTelemetry: the packages are loaded only if an address is set. */
import { optionalModule } from '../../protocol/errors.ts';
import type { Finding } from '../../protocol/channel.ts';
import type { Log } from '../../protocol/log.ts';
import { failure } from '../doctor/findings.ts';
import type { Telemetry, TelemetryTarget } from './spans.ts';

/** The variables that say where traces go; without an endpoint there are none. */
interface TelemetryEnvironment {
  OTEL_EXPORTER_OTLP_ENDPOINT?: string | undefined;
  OTEL_EXPORTER_OTLP_HEADERS?: string | undefined;
  OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true' | 'false';
}

/** The packages of the export, which few need: an installation does not bring them. */
const TELEMETRY_PACKAGES = [
  '@opentelemetry/api',
  '@opentelemetry/exporter-trace-otlp-proto',
  '@opentelemetry/resources',
  '@opentelemetry/sdk-trace',
] as const;

/** Their versions, as `devDependencies` of package.json has them. */
export type TelemetryVersions = Readonly<Record<(typeof TELEMETRY_PACKAGES)[number], string>>;

/** The command that brings them into the folder of the program, and changes nothing else there. */
export function telemetryInstall(versions: TelemetryVersions): string {
  const packages = TELEMETRY_PACKAGES.map((name) => `${name}@${versions[name]}`);
  return `npm install --no-save --save-prod --omit=dev ${packages.join(' ')}`;
}

/** Whether the packages are there, if an address is set. `has` finds a package by its name. */
export function telemetryFinding(
  { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }: Pick<TelemetryEnvironment, 'OTEL_EXPORTER_OTLP_ENDPOINT'>,
  versions: TelemetryVersions,
  has: (name: string) => boolean,
): Finding[] {
  if (endpoint === undefined || endpoint === '' || TELEMETRY_PACKAGES.every(has)) return [];
  const text = 'OTEL_EXPORTER_OTLP_ENDPOINT is set, and the packages that send traces are not installed.';
  return [failure('Traces', text, telemetryInstall(versions))];
}

/** Starts it; without an endpoint nothing is loaded, and the result does nothing. Throws `GatewayError('not_installed')`, and any error of the exporter. */
export async function startTelemetry(
  env: TelemetryEnvironment,
  { versions, ...about }: Pick<TelemetryTarget, 'version' | 'serverOf'> & { versions: TelemetryVersions },
  log: Log,
): Promise<Telemetry> {
  const endpoint = env.OTEL_EXPORTER_OTLP_ENDPOINT;
  if (endpoint === undefined)
    return { ended: () => undefined, subagentEnded: () => undefined, close: () => Promise.resolve() };
  const headers = readHeaders(env.OTEL_EXPORTER_OTLP_HEADERS);
  const content = env.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT === 'true';
  const purpose = 'OTEL_EXPORTER_OTLP_ENDPOINT';
  const { openExport } = await optionalModule(import('./otlp.ts'), purpose, telemetryInstall(versions));
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
