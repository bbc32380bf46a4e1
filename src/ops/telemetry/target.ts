/** Where traces go, and what sends them. */
import type { TracedSubagent, TracedTurn } from '../../protocol/agent/subagents.ts';

/** Where the traces go, and what each request contains. */
export interface TelemetryTarget {
  /** Base address of a collector (OTLP over HTTP), such as `http://127.0.0.1:4318`. */
  endpoint: string;
  headers: Readonly<Record<string, string>>;
  version: string;
  /** Whether prompts are sent, too. */
  content: boolean;
  /** Which server a model is asked on; undefined for one that no configured server has. */
  serverOf(model: string): AskedServer | undefined;
}

/** A model server, as traces name it. */
export interface AskedServer {
  /** The name of its provider, as in names of models. */
  provider: string;
  /** Its address. */
  url: string;
}

export interface Telemetry {
  /** An attempt of a turn has ended. Never throws. */
  turn(traced: TracedTurn): void;
  /** A run of a subagent has ended. Never throws. */
  subagent(traced: TracedSubagent): void;
  /** Sends what is still waiting, for at most a few seconds. Never throws. */
  close(): Promise<void>;
}
