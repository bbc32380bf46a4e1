/** Logs the state of the gateway once after a start. */
import { toGatewayError } from '../protocol/errors.ts';
import type { HealthReport } from '../protocol/gateway-api.ts';
import type { Log } from '../protocol/log.ts';

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
