/** Says once, after a start, how the gateway stands. */
import { toGatewayError } from '../contracts/errors.ts';
import type { HealthReport } from '../contracts/gateway-api.ts';
import type { Log } from '../contracts/log.ts';

/** Writes to the log what is missing, once it is known; nobody waits for it. Never throws. */
export function announceState(log: Log, report: Promise<HealthReport>, entering: Promise<unknown>): void {
  const say = async (): Promise<void> => {
    const { model, channels } = await report;
    if (model.state === 'down')
      log.warn({ detail: model.detail }, 'no model answers; chats will say so until one does');
    await entering;
    const off = Object.entries(channels).filter(([, state]) => state.state === 'off');
    for (const [channel, state] of off) log.info({ channel, detail: state.detail }, 'channel is off');
  };
  say().catch((error: unknown) => log.error({ err: toGatewayError(error) }, 'the state could not be told'));
}
