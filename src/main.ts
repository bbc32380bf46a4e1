/** The gateway as a process: configuration, start, signals, and a clean end. */
import { existsSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { writeFirstConfig } from './commands/init/first-config.ts';
import { openProcessLog } from './commands/process-log.ts';
import { beginHandOver, handOver, reportTrial } from './commands/upgrade/trial.ts';
import { processNotes, releaseStartMemory, type StartNotes } from './ops/start.ts';
import { loadConfig } from './config.ts';
import { visibleText } from './lib/text.ts';
import { GatewayError, toGatewayError } from './protocol/errors.ts';
import { startGateway } from './gateway.ts';
import type { Gateway, GatewayOptions } from './lifecycle.ts';
import type { Log } from './protocol/log.ts';
import { makeHome } from './store/index.ts';
import {
  channelList,
  type ChannelStates,
  openLines,
  onSupervisorStop,
  speaksForAll,
  tellReady,
  workerInstance,
} from './worker.ts';

/** What the one that runs a gateway decides besides its configuration. */
export type RunOptions = Pick<GatewayOptions, 'demo' | 'tools'>;

/**
 * Runs a gateway until SIGINT, SIGTERM or SIGHUP (a second one ends it at once). Sets the exit code: 0 after a clean stop, 1 when
 * it could not start or met an unexpected error. Never throws.
 */
export async function run(options: RunOptions = {}): Promise<void> {
  let log: Log | undefined;
  let progress: StartNotes | undefined;
  try {
    let config = loadConfig(process.env);
    await makeHome(config.home);
    const { log: processLog, redact } = openProcessLog(config);
    log = processLog;
    if (!existsSync(config.source.file)) {
      writeFirstConfig(config.source.file, log);
      // It means the same, but is now the content that later ones are compared with.
      config = loadConfig(process.env);
    }
    progress = processNotes(log);
    const showToken = process.stdout.isTTY ? tellToken : undefined;
    const gateway = await startGateway(config, {
      log,
      redact,
      showToken,
      progress,
      ...options,
    });
    endOnSignals(gateway, log);
    progress.step('Asking the model servers…');
    const { channels, model } = await gateway.health();
    // Written now, because a process that is killed writes nothing at its end: every start after it would compile all again.
    setImmediate(flushCompileCache);
    if (speaksForAll()) reportTrial(() => gateway.trial());
    releaseStartMemory(async () => (await gateway.health()).running === 0);
    const states = Object.entries(channels).map(([name, { state }]) => [name, state] as const);
    const on: ChannelStates = Object.fromEntries(states.filter(([, state]) => state !== 'off'));
    const link = process.stdout.isTTY && speaksForAll() ? await gateway.signInLink() : undefined;
    if (tellReady({ url: gateway.url, channels: on, link })) return;
    process.stdout.write(`\nParley is ready: ${gateway.url}  (channels: ${channelList(on)})\n`);
    process.stdout.write(openLines(gateway.url, link));
    // What is missing for an answer, with the command that fetches it.
    process.stdout.write(model.detail === undefined ? '\n' : `\n${visibleText(model.detail)}\n\n`);
  } catch (error) {
    const gatewayError = toGatewayError(error);
    if (!(error instanceof GatewayError)) log?.fatal({ err: error }, 'start_failed');
    process.stderr.write(`\n${visibleText(gatewayError.message)}\n\n`);
    process.exitCode = 1;
  } finally {
    progress?.end();
  }
}

function tellToken(token: string): void {
  process.stdout.write(`\nYour token (shown only once, full admin access):\n\n  ${token}\n\n`);
}

function endOnSignals(gateway: Gateway, log: Log): void {
  let ending = false;
  const end = async (next?: () => Promise<void>): Promise<void> => {
    if (ending) process.exit(130);
    ending = true;
    await gateway.stop();
    await next?.();
    process.exit(0);
  };
  onSupervisorStop(() => void end());
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      // The terminal sends its signals to the supervisor, too, which asks every worker to stop.
      if (workerInstance() !== undefined && signal !== 'SIGTERM') return;
      log.info({ signal }, 'stopping');
      void end();
    });
  }
  // `parley upgrade` asks with it for the version that is due.
  if (workerInstance() === undefined && process.platform !== 'win32')
    process.on('SIGUSR2', () => {
      if (ending || !beginHandOver()) return;
      log.info('handing_over');
      void end(handOver);
    });
  // After an unknown error the state cannot be trusted: committed work is safe, and a supervisor starts a new
  // process. It ends at once, without freeing its lanes, so that the crash counts against the messages it was
  // working on.
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => {
      log.fatal({ err: error }, 'uncaught_error');
      process.exit(1);
    });
  }
}
