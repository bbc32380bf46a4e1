/** Where traces go, and what sends them. */
import type { TracedTurn } from '../../contracts/store/traces.ts';

/** Where the traces go, and what each request contains. */
export interface TelemetryTarget {
  /** Base address of a collector (OTLP over HTTP), such as `http://127.0.0.1:4318`. */
  endpoint: string;
  headers: Readonly<Record<string, string>>;
  version: string;
}

export interface Telemetry {
  /** An attempt of a turn has ended. Never throws. */
  turn(traced: TracedTurn): void;
  /** Sends what is still waiting, for at most a few seconds. Never throws. */
  close(): Promise<void>;
}
