/** Health of the gateway and of its channels; cheap, no matter how often it is requested. */
import type { Fanout, MessageBus } from '../protocol/bus.ts';
import type { ChannelHealth, HealthReport } from '../protocol/gateway-api.ts';
import { GatewayError, toGatewayError } from '../protocol/errors.ts';
import type { SessionStore } from '../protocol/store/ledger.ts';
import type { Log } from '../protocol/log.ts';
import { type ModelOmissions, omissionSentence } from '../protocol/agent/omissions.ts';
import type { ModelReport, ReplacedModel } from '../protocol/agent/provider.ts';
import type { PluginStatus } from '../protocol/operator/plugins.ts';
import type { McpServerStatus } from '../protocol/agent/tool.ts';
import type { SettingsReport } from '../protocol/settings.ts';
import { pause } from '../lib/async/sleep.ts';
import { inEnglish, type Say, type TextRef, textRef } from '../protocol/texts/say.ts';
import type { Channel } from '../protocol/channel.ts';

/** How long the answers of the store and of the model server are cached, in milliseconds. */
const COUNTS_KEPT_MS = 1_000;
const MODEL_KEPT_MS = 15_000;
/** Longest wait of a report for the counts of the store, in milliseconds; after that it has the last ones. */
const COUNTS_WAIT_MS = 500;
/** Longest wait for the model server to answer a probe, in milliseconds. */
const MODEL_TIMEOUT_MS = 3_000;

export interface HealthDeps {
  ledger: SessionStore;
  /** Throws when the model server is unreachable or has no model that answers chats. */
  models: (signal: AbortSignal) => Promise<ModelReport>;
  /** Models that are currently replaced by others. */
  replaced: () => readonly ReplacedModel[];
  /** What the servers of models are not sent now because they refuse it. */
  omissions: () => readonly ModelOmissions[];
  channels: (say?: Say) => HealthReport['channels'];
  /** The MCP servers of this gateway. */
  mcp: () => readonly McpServerStatus[];
  plugins: () => readonly PluginStatus[];
  /** Errors in the files of the profiles. */
  profileErrors: () => readonly TextRef[];
  settings: () => SettingsReport;
  /** The message bus, for the state of the database. */
  bus: Pick<MessageBus, 'store'>;
  /** What carries live events between nodes; undefined when there is only this one. */
  fanout: Fanout | undefined;
  isReady: () => boolean;
  version: string;
  demo: boolean;
  log: Log;
  /** Milliseconds of a monotonic clock. */
  monotonicNow: () => number;
}

type Counts = Awaited<ReturnType<SessionStore['counts']>>;

export interface Health {
  /** `say` words the details of channels, by default in English. */
  report(say?: Say): Promise<HealthReport>;
  /** Undefined while the store does not answer. */
  counts(): Promise<Counts | undefined>;
  channels(): HealthReport['channels'];
  /** Whether live events reach the other gateways in time. */
  events(): HealthReport['events'];
}

/** Makes the health reports. They never throw: an unreachable store is a state, not an error. */
export function createHealth(deps: HealthDeps): Health {
  const counts = cached(COUNTS_KEPT_MS, deps.monotonicNow, async () => {
    try {
      return await deps.ledger.counts();
    } catch (error) {
      deps.log.warn({ err: toGatewayError(error) }, 'store_unavailable');
      return undefined;
    }
  });
  // Readiness is known without the store, so a report does not wait for it.
  let known: Counts | undefined;
  const newestCounts = async (): Promise<Counts | undefined> => {
    const read = new AbortController();
    const reading = counts().then((answer) => (known = answer ?? known));
    const late = pause(COUNTS_WAIT_MS, read.signal).then(() => known);
    return await Promise.race([reading, late]).finally(() => read.abort());
  };
  const models = cached(
    MODEL_KEPT_MS,
    deps.monotonicNow,
    async () => await deps.models(AbortSignal.timeout(MODEL_TIMEOUT_MS)).catch(toGatewayError),
  );
  const events = (): HealthReport['events'] => ({
    state: deps.fanout?.isUp() === false ? 'degraded' : 'up',
  });
  return {
    counts,
    channels: () => deps.channels(),
    events,
    async report(say) {
      const settings = deps.settings();
      const store = deps.bus.store();
      const [storeCounts, modelReport] = await Promise.all([newestCounts(), models()]);
      return {
        ready: deps.isReady() && store === 'up',
        store,
        events: events(),
        model: modelHealth(modelReport, deps.replaced(), deps.omissions()),
        channels: deps.channels(say),
        mcp: Object.fromEntries(
          deps.mcp().map(({ name, state, tools }) => [name, { state, tools: tools.length }]),
        ),
        plugins: Object.fromEntries(
          deps.plugins().map(({ name, state, version }) => [name, { state, version }]),
        ),
        profiles: profileHealth(deps.profileErrors().length),
        settings: { state: settings.errors.length === 0 ? 'up' : 'degraded', ...settings },
        pending: storeCounts?.pending ?? 0,
        running: storeCounts?.running ?? 0,
        version: deps.version,
        demo: deps.demo,
      };
    },
  };
}

/** What is missing or replaced at a reachable model server degrades it; what servers refuse to be sent does not. */
function modelHealth(
  report: ModelReport | GatewayError,
  replaced: readonly ReplacedModel[],
  omissions: readonly ModelOmissions[],
): HealthReport['model'] {
  const replacements = replaced.map(
    ({ model, reason, instead }) =>
      `${model === '' ? 'The usual model' : `The model ${model}`} ${reason}; ${instead} answers instead.`,
  );
  if (report instanceof GatewayError)
    return { state: 'down', detail: [report.message, ...replacements].join(' ') };
  const { model: name, missing, smallWindow } = report;
  const problems = [...missing, ...replacements];
  // A model with a small window works: this is only a note to the operator.
  const notes = [...omissions.map(omissionSentence), ...(smallWindow === undefined ? [] : [smallWindow])];
  const detail = [...problems, ...notes].join(' ');
  if (detail === '') return { state: 'up', name };
  const more = { name, detail, omissions: omissions.length === 0 ? undefined : omissions };
  return problems.length === 0 ? { state: 'up', ...more } : { state: 'degraded', ...more, missing, replaced };
}

/** The number of errors, without their texts: the report is public, and the texts quote the files. */
function profileHealth(errors: number): HealthReport['profiles'] {
  if (errors === 0) return { state: 'up' };
  const many = errors === 1 ? 'An error' : `${errors} errors`;
  return { state: 'degraded', detail: `${many} in the files of profiles: the log and /profile name each.` };
}

/** Caches an answer for some time; concurrent callers share one request. */
function cached<Value>(
  forMs: number,
  monotonicNow: () => number,
  ask: () => Promise<Value>,
): () => Promise<Value> {
  let last: { at: number; value: Promise<Value> } | undefined;
  return () => {
    if (last === undefined || monotonicNow() - last.at > forMs) last = { at: monotonicNow(), value: ask() };
    return last.value;
  };
}

/** The health of every channel of the list, by name, with its label for people; `say` words what is wrong. */
export function channelHealth(
  list: readonly { name: string; label: string; needs: string }[],
  channels: ReadonlyMap<string, Channel>,
  healthOf: (channel: Channel) => ChannelHealth,
  say: Say = inEnglish,
): HealthReport['channels'] {
  return Object.fromEntries(
    list.map(({ name, label, needs }) => {
      const channel = channels.get(name);
      const health: ChannelHealth =
        channel === undefined
          ? { state: 'off', detail: textRef('health.needs', { needs }) }
          : healthOf(channel);
      return [
        name,
        {
          ...health,
          label,
          detail: health.detail && textOfDetail(health.detail, label, say),
          notice: health.notice && say.text(health.notice),
        },
      ];
    }),
  );
}

/** What a platform or a library says stays in its words, in a sentence of the reader's language. */
function textOfDetail(detail: TextRef | string, network: string, say: Say): string {
  return typeof detail === 'string' ? say('health.other', { network, detail }) : say.text(detail);
}

/** Logs missing models and channels once they are known, in the background. Never throws. */
export function announceState(log: Log, report: Promise<HealthReport>, entering: Promise<unknown>): void {
  const say = async (): Promise<void> => {
    const { model, channels } = await report;
    if (model.state === 'down') log.warn({ detail: model.detail }, 'no_model_available');
    if (model.state === 'degraded') log.warn({ detail: model.detail }, 'models_degraded');
    if (model.state === 'up' && model.detail !== undefined)
      log.warn({ detail: model.detail }, 'small_window');
    const off = Object.entries(channels).filter(([, state]) => state.state === 'off');
    for (const [channel, state] of off) log.info({ channel, detail: state.detail }, 'channel_off');
    // For as long as a platform is unreachable or refuses its token.
    await entering;
  };
  say().catch((error: unknown) => log.error({ err: toGatewayError(error) }, 'state_report_failed'));
}
