/** The channels of a gateway: those that are on when it starts, and those that an operator sets up while it runs. */
import { parseEnv } from 'node:util';
import { KeyedLock } from './lib/async/keyed-lock.ts';
import { homeEnvFile } from './commands/environment.ts';
import { checkConfig, type Config, secretsOf } from './config.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { ConfiguredChannel } from './protocol/channel-manifest.ts';
import type { Channel, ChannelDeps, ChannelManifest } from './protocol/channel.ts';
import { GatewayError } from './protocol/errors.ts';
import type { Log } from './protocol/log.ts';
import type { Administration, ChannelSetup, ChannelTried } from './protocol/operator/administration.ts';
import type { Receive } from './protocol/receive.ts';
import { changeWhole, textOfFile, withVariables } from './settings/index.ts';

/** Longest wait for a platform, in milliseconds. */
const CHECK_MS = 15_000;
/** Names of variables whose values are secret. */
const SECRET_NAME = /(?:TOKEN|KEY|SECRET|PASSWORD)$/;

/** The parts of the gateway that channels are opened with. */
export interface ChannelParts {
  config: Config;
  channels: Map<string, Channel>;
  depsOf: (channel: string) => ChannelDeps;
  receive: Receive;
  leader: { enter(channel: Channel, signal: AbortSignal): Promise<void> };
  lifecycle: Pick<Lifecycle, 'closing'>;
  options: { redact: { learn(secrets: readonly string[]): void } };
  log: Log;
}

/** What the environment and the home's file say of channels. */
class ChannelVariables {
  readonly #environment: Config['environment'];
  readonly #file: string;
  /** Values that this process has learned since it started. */
  readonly #learned = new Map<string, string>();

  constructor(environment: Config['environment']) {
    this.#environment = environment;
    this.#file = homeEnvFile(environment);
  }

  /** All variables, as a start would find them with these. */
  with(variables: Readonly<Record<string, string>>): Record<string, string | undefined> {
    return { ...this.#environment, ...this.written(), ...variables };
  }

  written(): NodeJS.Dict<string> {
    return parseEnv(textOfFile(this.#file) ?? '');
  }

  /** What this process runs with. */
  current(name: string): string | undefined {
    return this.#learned.get(name) ?? this.#environment[name];
  }

  /** The environment itself sets it, which the file cannot override. */
  isFixed(name: string): boolean {
    return this.#environment[name] !== undefined && this.written()[name] === undefined;
  }

  save(variables: Readonly<Record<string, string>>): void {
    changeWhole(this.#file, (text) => ({ after: withVariables(text, variables), result: undefined }));
  }

  learn(variables: Readonly<Record<string, string>>): void {
    for (const [variable, value] of Object.entries(variables)) this.#learned.set(variable, value);
  }
}

/**
 * Makes the part of the administration about channels. A channel that is set up starts at once, except where several
 * `workers` share the port: the others would not have it.
 */
export function administerChannels(
  parts: ChannelParts,
  workers: boolean,
): Pick<Administration, 'channelSetups' | 'setUpChannel'> {
  const variables = new ChannelVariables(parts.config.environment);
  const optional = parts.config.manifests.filter(({ needs }) => needs !== 'nothing');
  const lock = new KeyedLock();
  return {
    channelSetups: () => optional.map((manifest) => setupOf(manifest, parts, variables)),
    async setUpChannel(name, values) {
      const manifest = optional.find((one) => one.name === name);
      if (manifest === undefined) return undefined;
      // One after the other: two requests at once would start the channel twice.
      return await lock.run('', parts.lifecycle.closing, () =>
        setUp(manifest, values, { parts, variables, workers }),
      );
    },
  };
}

function setupOf(
  manifest: ChannelManifest,
  { channels }: ChannelParts,
  variables: ChannelVariables,
): ChannelSetup {
  const { name, label, tokenPage } = manifest;
  const saved = variables.written();
  const names = variablesOf(manifest);
  return {
    name,
    label,
    isOn: channels.has(name),
    tokenPage,
    variables: names.map((variable) => ({
      name: variable,
      isSecret: SECRET_NAME.test(variable),
      isSet: (variables.current(variable) ?? saved[variable]) !== undefined,
      isFixed: variables.isFixed(variable),
    })),
    needsRestart: names.some(
      (variable) => saved[variable] !== undefined && saved[variable] !== variables.current(variable),
    ),
  };
}

async function setUp(
  manifest: ChannelManifest,
  values: Readonly<Record<string, string>>,
  { parts, variables, workers }: { parts: ChannelParts; variables: ChannelVariables; workers: boolean },
): Promise<ChannelTried> {
  const { name } = manifest;
  const names = Object.keys(values);
  refuseOthers(manifest, names, variables);
  const { config, problems } = checkConfig(variables.with(values));
  const channel = config?.channels.find((one) => one.name === name);
  if (config === undefined || channel === undefined)
    return { kind: 'refused', problems: problems.map(({ textRef }) => textRef) };
  const isRunning = parts.channels.has(name);
  const results = await channel.check({ signal: AbortSignal.timeout(CHECK_MS), running: isRunning });
  const findings = results.map(({ level, text, remedy }) => ({ level, text, remedy }));
  if (names.length === 0) return { kind: 'checked', findings };
  // What can be corrected later, such as a leftover webhook, is no reason to refuse the token.
  if (results.some(({ level, fix }) => level === 'error' && fix === undefined))
    return { kind: 'failed', findings };
  parts.options.redact.learn(secretsOf(config).secrets);
  variables.save(values);
  parts.log.info({ channel: name, variables: names }, 'channel_set_up');
  if (workers || isRunning || !channel.isOn) return { kind: 'needs_restart', findings };
  variables.learn(values);
  await start(parts, channel);
  return { kind: 'started', findings };
}

function variablesOf({ needs, alsoNeeds = {} }: ChannelManifest): string[] {
  return [needs, ...Object.keys(alsoNeeds)];
}

/** Throws `GatewayError('bad_channel')` for a variable that does not belong to the channel, or that the environment sets. */
function refuseOthers(
  manifest: ChannelManifest,
  names: readonly string[],
  variables: ChannelVariables,
): void {
  const others = names.filter((name) => !variablesOf(manifest).includes(name));
  if (others.length > 0)
    throw new GatewayError('bad_channel', `${manifest.label} is not switched on by ${others.join(', ')}.`);
  const fixed = names.filter((name) => variables.isFixed(name));
  if (fixed.length > 0)
    throw new GatewayError(
      'bad_channel',
      `${fixed.join(', ')}: set in the environment of the gateway, which the file .env cannot override. Change it there and restart.`,
    );
}

/** Opens a channel and lets it receive. Throws `GatewayError`. */
async function start(parts: ChannelParts, configured: ConfiguredChannel): Promise<void> {
  const channel = await openChannel(parts, configured);
  if (channel.identify === undefined) await channel.start(parts.receive);
  // Until its platform has identified the token, its health says what is missing.
  else void parts.leader.enter(channel, parts.lifecycle.closing);
}

/** Opens a channel; it does not receive yet. Throws `GatewayError`. */
export async function openChannel(
  { channels, depsOf }: Pick<ChannelParts, 'channels' | 'depsOf'>,
  { name, create }: Pick<ConfiguredChannel, 'name' | 'create'>,
): Promise<Channel> {
  const channel = await create(depsOf(name));
  channels.set(name, channel);
  return channel;
}
