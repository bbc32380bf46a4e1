/** The first part of the composition root: access control, the two buses, and delivery to the channels. */
import path from 'node:path';
import { channels as manifests } from '../channels/index.ts';
import packageFile from '../package.json' with { type: 'json' };
import { accessOf } from './config-views.ts';
import { proxyTokenOf } from './protocol/operator/sign-in.ts';
import type { Config } from './config.ts';
import { fileSchemaFor } from './config-schema.ts';
import { PROFILE_SETTINGS, profileSchema } from './protocol/agent/profile.ts';
import { chooseFanout, createEventBus, createMessageBus } from './bus/index.ts';
import type { Channel } from './protocol/channel.ts';
import type { Log, StartProgress } from './protocol/log.ts';
import type { Settings } from './protocol/settings.ts';
import { withSlash } from './protocol/isomorphic/fill-text.js';
import type { Recipient } from './protocol/texts/say.ts';
import { createDelivery, createStreamModes } from './delivery/index.ts';
import {
  bindTurns,
  createDropSurface,
  createFollowChatMigration,
  createPersonLanguages,
  groupAdminIn,
  openThreadIn,
} from './intake/index.ts';
import { newId } from './lib/ids.ts';
import { fileTypeOf } from './media/index.ts';
import {
  createMeters,
  createRefusalNotes,
  createTraces,
  meterUsage,
  readHeaders,
  type Redactor,
  startLoopMonitor,
  startTelemetry,
  type TelemetryTarget,
} from './ops/index.ts';
import { systemClock } from './lib/clock.ts';
import { serverLookup } from './providers/index.ts';
import { createAccessPolicy, ensureFirstToken, ownersOf } from './security/index.ts';
import { createLanguages, descriptionsOf, jsonSchema, watchFolders } from './settings/index.ts';
import type { HomeStore } from './store/index.ts';
import { workerRestarts } from './worker.ts';
import { createOutgoingFiles, createSessionFiles } from './tools/index.ts';

/** How the process around the gateway logs and prints. */
export interface ProcessOutput {
  log: Log;
  /** Takes secrets out of the log and of the prompts in traces; undefined = the gateway makes its own. */
  redact?: Redactor | undefined;
  /** Receives the steps of the start that take time. */
  progress?: StartProgress | undefined;
  /** Shows the first token on the terminal; undefined = there is no terminal, and the token is written to a file. */
  showToken?: ((token: string) => void) | undefined;
}

export type Security = Awaited<ReturnType<typeof openSecurity>>;
export type Transport = Awaited<ReturnType<typeof openTransport>>;

/** Access control; prints or writes the first token. */
export async function openSecurity(
  settings: Settings<Config>,
  { log, showToken }: ProcessOutput,
  { access, groupChats }: HomeStore,
) {
  const { env, home } = settings.current();
  const first = { access, home, fromEnvironment: env.GATEWAY_TOKEN, showToken };
  const { file, revoked } = await ensureFirstToken(first);
  if (file !== undefined) log.info({ file }, 'first_token_written');
  if (revoked !== undefined) log.warn({ token: revoked }, 'token_stays_revoked');
  const channelAccess = (channel: string) => accessOf(settings.current(), channel);
  const accessPolicy = createAccessPolicy({
    access,
    groupChats,
    monotonicNow: () => performance.now(),
    channelAccess,
    proxyTokenOf: (user) => proxyTokenOf(settings.current().proxySignIn, user),
  });
  /** What a channel may know of its people: its rules, and who its owners are. */
  const ofChannel = (name: string) => ({
    access: () => channelAccess(name),
    owners: () => ownersOf(access, channelAccess, name),
  });
  return { channelAccess, accessPolicy, ofChannel };
}

/** Where traces go; undefined unless the environment says so. */
function telemetryOf({ env, modelServers }: Config): TelemetryTarget | undefined {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_HEADERS: headers } = env;
  const { version } = packageFile;
  if (endpoint === undefined) return undefined;
  const content = env.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT === 'true';
  return { endpoint, headers: readHeaders(headers), version, content, serverOf: serverLookup(modelServers) };
}

/** The two buses, and delivery to the channels, which are loaded last. */
export async function openTransport(
  settings: Settings<Config>,
  log: Log,
  store: HomeStore,
  { channelAccess }: Security,
) {
  const config = settings.current();
  const channels = new Map<string, Channel>();
  const { loop, fanout, events, bus } = await openBuses(config, log, store);
  const observers = await openObservers(settings, log, store);
  const ledger = bindTurns(
    meterUsage(store.ledger, observers.meters.usage),
    () => settings.current().bindings,
  );
  const sessions = path.join(config.home, 'workspace', 'sessions');
  const files = createSessionFiles(sessions, log, store.files);
  const outgoing = createOutgoingFiles(files, fileTypeOf, (file) => store.keptFiles.keep(file));
  const followMigration = createFollowChatMigration(store.moves, channelAccess, log);
  const { labelOf, writeCommand, networks } = namesOf(config);
  const { languages, languageFiles } = await openLanguages(settings, { log, store, ledger, writeCommand });
  const { surfaces, lanes, plans, chatSettings } = store;
  const dropSurface = createDropSurface(surfaces, { ledger, bus, events, languages }, labelOf, log);
  const delivery = createDelivery({
    channels,
    surfaces,
    dropSurface,
    ledger,
    lanes,
    plans,
    events,
    bus,
    say: (to) => languages.say(to),
    files: outgoing,
    streamModes: createStreamModes(channels, chatSettings, log),
    followMigration,
    log,
  });
  return {
    channels,
    fanout,
    events,
    loop,
    bus,
    ledger,
    files,
    outgoing,
    followMigration,
    linking: { labelOf, networks, isGroupAdmin: groupAdminIn(channels), dropSurface },
    openThread: openThreadIn(channels, log),
    languages,
    languageFiles,
    delivery,
    ...observers,
  };
}

/** The bus of messages and the bus of events; between nodes, what one of them publishes reaches the others. */
async function openBuses(config: Config, log: Log, store: HomeStore) {
  const { lanes, instance } = store;
  const loop = startLoopMonitor();
  const fanout = await chooseFanout(config.env.NATS_URL, store, log);
  const events = createEventBus({ ...(fanout && { fanout }), nodeId: newId(), log });
  const bus = createMessageBus({ lanes, instance, log, stopNotifier: events.stopNotifier });
  return { loop, fanout, events, bus };
}

/** What the networks are called, and how a command is written in each. */
function namesOf({ channels }: Config) {
  const writeCommand = (name: string, { channel, threadId }: Recipient): string =>
    (channels.find((one) => one.name === channel)?.writeCommand ?? withSlash)(name, { threadId });
  const networks = channels
    .filter(({ isOn }) => isOn)
    .map(({ name, label }) => ({
      name,
      label,
      writeCommand: (command: string) => writeCommand(command, { channel: name }),
    }));
  const labelOf = (name: string) => channels.find((channel) => channel.name === name)?.label;
  return { labelOf, writeCommand, networks };
}

interface LanguageParts {
  log: Log;
  store: HomeStore;
  ledger: ReturnType<typeof bindTurns>;
  writeCommand: (name: string, recipient: Recipient) => string;
}

/** The languages of the texts, and the one that each person reads. */
async function openLanguages(
  settings: Settings<Config>,
  { log, store, ledger, writeCommand }: LanguageParts,
) {
  const languageFiles = createLanguages({
    folder: path.join(settings.current().home, 'languages'),
    watch: (onChange) => watchFolders(onChange, log),
    writeCommand,
    settings: () => [
      ...descriptionsOf(jsonSchema(fileSchemaFor(manifests))).keys(),
      ...descriptionsOf(jsonSchema(profileSchema), PROFILE_SETTINGS).keys(),
    ],
    log,
  });
  await languageFiles.open();
  const languages = createPersonLanguages({
    languages: languageFiles,
    setting: () => settings.current().language,
    chatSettings: store.chatSettings,
    async ownerOf(session) {
      const tokenId = (await ledger.session(session))?.ownerTokenId;
      return tokenId === undefined ? undefined : `token:${tokenId}`;
    },
    monotonicNow: () => performance.now(),
  });
  return { languages, languageFiles };
}

/** What is noted about turns and about messages that do not become turns: meters, traces, prices. */
async function openObservers(settings: Settings<Config>, log: Log, store: HomeStore) {
  const meters = createMeters(packageFile.version, workerRestarts());
  const prices = () => settings.current().prices;
  const telemetry = await startTelemetry(telemetryOf(settings.current()), log);
  const traces = createTraces(store.traces, prices, [
    {
      ended: (traced) => meters.turn(traced),
      subagentEnded: (traced) => meters.subagent(traced),
      decided: (outcome) => meters.approval(outcome),
    },
    { ended: (traced) => telemetry.turn(traced), subagentEnded: (traced) => telemetry.subagent(traced) },
  ]);
  const notes = createRefusalNotes((refusals) => store.traces.noteRefusals(refusals), systemClock, log);
  const refusals = {
    ...notes,
    note: (refusal: Parameters<typeof notes.note>[0]) => {
      meters.refused(refusal);
      notes.note(refusal);
    },
  };
  return { meters, traces, prices, refusals, telemetry };
}
