/** How the gateway is doing: cheap to ask, however often probes ask it. */
import type { HealthReport } from '../contracts/gateway-api.ts';
import { toGatewayError } from '../contracts/errors.ts';
import type { SessionStore } from '../contracts/ledger.ts';
import type { Log } from '../contracts/log.ts';

/** How long the answers of the store and of the model server are kept. */
const COUNTS_KEPT_MS = 1_000;
const MODEL_KEPT_MS = 15_000;
/** How long the model server may take to answer a probe. */
const MODEL_TIMEOUT_MS = 3_000;

export interface HealthDeps {
  ledger: Pick<SessionStore, 'counts'>;
  /** Throws when the model server is away or has no model. */
  askModel: (signal: AbortSignal) => Promise<unknown>;
  channels: () => HealthReport['channels'];
  /** What is wrong in the files of the profiles. */
  profileErrors: () => readonly string[];
  isReady: () => boolean;
  version: string;
  demo: boolean;
  log: Log;
  /** Milliseconds of a steady clock. */
  monotonicNow: () => number;
}

type Counts = Awaited<ReturnType<SessionStore['counts']>>;

/** What is known of the counts; `undefined` while the store does not answer. */
export interface Health {
  report(): Promise<HealthReport>;
  counts(): Promise<Counts | undefined>;
}

/** Makes the health reports. Nothing here throws: a store that is away is a state, not an error. */
export function createHealth(deps: HealthDeps): Health {
  const counts = kept(COUNTS_KEPT_MS, deps.monotonicNow, async () => {
    try {
      return await deps.ledger.counts();
    } catch (error) {
      deps.log.warn({ err: toGatewayError(error) }, 'the store does not answer');
      return undefined;
    }
  });
  const model = kept(MODEL_KEPT_MS, deps.monotonicNow, async (): Promise<HealthReport['model']> => {
    try {
      await deps.askModel(AbortSignal.timeout(MODEL_TIMEOUT_MS));
      return { state: 'up' };
    } catch (error) {
      return { state: 'down', detail: toGatewayError(error).message };
    }
  });
  return {
    counts,
    async report() {
      const [known, modelState] = await Promise.all([counts(), model()]);
      return {
        ready: deps.isReady() && known !== undefined,
        store: known === undefined ? 'down' : 'up',
        model: modelState,
        channels: deps.channels(),
        profiles: profileHealth(deps.profileErrors().length),
        pending: known?.pending ?? 0,
        running: known?.running ?? 0,
        version: deps.version,
        demo: deps.demo,
      };
    },
  };
}

/** How many errors, and where to read them: anybody may read this, and files quote what people wrote into them. */
function profileHealth(errors: number): HealthReport['profiles'] {
  if (errors === 0) return { state: 'up' };
  const many = errors === 1 ? 'An error' : `${errors} errors`;
  return { state: 'degraded', detail: `${many} in the files of profiles: the log and /profile name each.` };
}

/** Keeps an answer for a while, and lets callers who come meanwhile share the question. */
function kept<Value>(
  keptMs: number,
  monotonicNow: () => number,
  ask: () => Promise<Value>,
): () => Promise<Value> {
  let last: { at: number; value: Promise<Value> } | undefined;
  return () => {
    if (last === undefined || monotonicNow() - last.at > keptMs) last = { at: monotonicNow(), value: ask() };
    return last.value;
  };
}
