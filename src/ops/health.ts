/** Health of the gateway; cheap, no matter how often it is requested. */
import type { HealthReport } from '../protocol/gateway-api.ts';
import { GatewayError, toGatewayError } from '../protocol/errors.ts';
import type { SessionStore } from '../protocol/store/ledger.ts';
import type { Log } from '../protocol/log.ts';
import { type ModelOmissions, omissionSentence } from '../protocol/agent/omissions.ts';
import type { ModelReport, ReplacedModel } from '../protocol/agent/provider.ts';
import type { McpServerStatus } from '../protocol/agent/tool.ts';
import type { SettingsReport } from '../protocol/settings.ts';
import type { Say, TextRef } from '../protocol/texts/say.ts';

/** How long the answers of the store and of the model server are cached, in milliseconds. */
const COUNTS_KEPT_MS = 1_000;
const MODEL_KEPT_MS = 15_000;
/** Longest wait for the model server to answer a probe, in milliseconds. */
const MODEL_TIMEOUT_MS = 3_000;

export interface HealthDeps {
  ledger: Pick<SessionStore, 'counts'>;
  /** Throws when the model server is unreachable or has no model that answers chats. */
  models: (signal: AbortSignal) => Promise<ModelReport>;
  /** Models that are currently replaced by others. */
  replaced: () => readonly ReplacedModel[];
  /** What the servers of models are not sent now because they refuse it. */
  omissions: () => readonly ModelOmissions[];
  channels: (say?: Say) => HealthReport['channels'];
  /** The MCP servers of this gateway. */
  mcp: () => readonly McpServerStatus[];
  /** Errors in the files of the profiles. */
  profileErrors: () => readonly TextRef[];
  settings: () => SettingsReport;
  isReady: () => boolean;
  version: string;
  demo: boolean;
  log: Log;
  /** Milliseconds of a monotonic clock. */
  monotonicNow: () => number;
}

type Counts = Awaited<ReturnType<SessionStore['counts']>>;

/** The counts; undefined while the store does not answer. */
export interface Health {
  /** `say` words the details of channels, by default in English. */
  report(say?: Say): Promise<HealthReport>;
  counts(): Promise<Counts | undefined>;
  channels(): HealthReport['channels'];
}

/** Makes the health reports. They never throw: an unreachable store is a state, not an error. */
export function createHealth(deps: HealthDeps): Health {
  const counts = kept(COUNTS_KEPT_MS, deps.monotonicNow, async () => {
    try {
      return await deps.ledger.counts();
    } catch (error) {
      deps.log.warn({ err: toGatewayError(error) }, 'store_unavailable');
      return undefined;
    }
  });
  const models = kept(
    MODEL_KEPT_MS,
    deps.monotonicNow,
    async () => await deps.models(AbortSignal.timeout(MODEL_TIMEOUT_MS)).catch(toGatewayError),
  );
  return {
    counts,
    channels: () => deps.channels(),
    async report(say) {
      const [known, named] = await Promise.all([counts(), models()]);
      return {
        ready: deps.isReady() && known !== undefined,
        store: known === undefined ? 'down' : 'up',
        model: modelHealth(named, deps.replaced(), deps.omissions()),
        channels: deps.channels(say),
        mcp: Object.fromEntries(
          deps.mcp().map(({ name, state, tools }) => [name, { state, tools: tools.length }]),
        ),
        profiles: profileHealth(deps.profileErrors().length),
        settings: settingsHealth(deps.settings()),
        pending: known?.pending ?? 0,
        running: known?.running ?? 0,
        version: deps.version,
        demo: deps.demo,
      };
    },
  };
}

/**
 * A reachable model server, with what is missing there, which models currently replace others, and what servers refuse to
 * be sent; that alone is no degradation, because models answer.
 */
function modelHealth(
  report: ModelReport | GatewayError,
  replaced: readonly ReplacedModel[],
  omissions: readonly ModelOmissions[],
): HealthReport['model'] {
  const instead = replaced.map(
    ({ model, reason, instead: other }) =>
      `${model === '' ? 'The usual model' : `The model ${model}`} ${reason}; ${other} answers instead.`,
  );
  if (report instanceof GatewayError)
    return { state: 'down', detail: [report.message, ...instead].join(' ') };
  const { model: name, missing, smallWindow } = report;
  const left = omissions.length === 0 ? {} : { omissions };
  const problems = [...missing, ...instead];
  // A model with a small window answers: the operator is told, and nothing is wrong.
  const notes = [...omissions.map(omissionSentence), ...(smallWindow === undefined ? [] : [smallWindow])];
  const detail = [...problems, ...notes].join(' ');
  if (detail === '') return { state: 'up', name };
  if (problems.length === 0) return { state: 'up', name, detail, ...left };
  return { state: 'degraded', name, detail, missing, replaced, ...left };
}

/** The number of errors, without their texts: the report is public, and the texts quote the files. */
function profileHealth(errors: number): HealthReport['profiles'] {
  if (errors === 0) return { state: 'up' };
  const many = errors === 1 ? 'An error' : `${errors} errors`;
  return { state: 'degraded', detail: `${many} in the files of profiles: the log and /profile name each.` };
}

function settingsHealth(report: SettingsReport): HealthReport['settings'] {
  return { state: report.errors.length === 0 ? 'up' : 'degraded', ...report };
}

/** Caches an answer for some time; concurrent callers share one request. */
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
