/** The channels of a gateway: those that are on when it starts, and those that an operator sets up while it runs. */
import { parseEnv } from 'node:util';
import { channels as manifests } from '../channels/index.ts';
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

/**
 * Makes the part of the administration about channels. A channel that is set up starts at once, except where several
 * `workers` share the port: the others would not have it.
 */
export function administerChannels(
  parts: ChannelParts,
  workers: boolean,
): Pick<Administration, 'channelSetups' | 'setUpChannel'> {
  const { environment } = parts.config;
  const file = homeEnvFile(environment);
  const written = (): NodeJS.Dict<string> => parseEnv(textOfFile(file) ?? '');
  /** Values that this process has learned since it started. */
  const learned = new Map<string, string>();
  const current = (name: string): string | undefined => learned.get(name) ?? environment[name];
  const isFixed = (name: string): boolean => environment[name] !== undefined && written()[name] === undefined;

  const setupOf = (manifest: ChannelManifest): ChannelSetup => {
    const { name, label, tokenPage } = manifest;
    const saved = written();
    const variables = variablesOf(manifest);
    return {
      name,
      label,
      isOn: parts.channels.has(name),
      tokenPage,
      variables: variables.map((variable) => ({
        name: variable,
        isSecret: SECRET_NAME.test(variable),
        isSet: (current(variable) ?? saved[variable]) !== undefined,
        isFixed: isFixed(variable),
      })),
      needsRestart: variables.some(
        (variable) => saved[variable] !== undefined && saved[variable] !== current(variable),
      ),
    };
  };

  const setUp = async (
    manifest: ChannelManifest,
    variables: Readonly<Record<string, string>>,
  ): Promise<ChannelTried> => {
    const { name } = manifest;
    const names = Object.keys(variables);
    refuseOthers(manifest, names, isFixed);
    const { config, problems } = checkConfig({
      ...environment,
      ...written(),
      ...Object.fromEntries(learned),
      ...variables,
    });
    const channel = config?.channels.find((one) => one.name === name);
    if (config === undefined || channel === undefined)
      return { kind: 'refused', problems: problems.map(({ textRef }) => textRef) };
    const findings = await channel.check({
      signal: AbortSignal.timeout(CHECK_MS),
      running: parts.channels.has(name),
    });
    const told = findings.map(({ level, text, remedy }) => ({ level, text, remedy }));
    if (names.length === 0) return { kind: 'checked', findings: told };
    // What can be corrected later, such as a leftover webhook, is no reason to refuse the token.
    if (findings.some(({ level, fix }) => level === 'error' && fix === undefined))
      return { kind: 'failed', findings: told };
    parts.options.redact.learn(secretsOf(config).secrets);
    changeWhole(file, (text) => ({ after: withVariables(text, variables), result: undefined }));
    parts.log.info({ channel: name, variables: names }, 'channel_set_up');
    if (workers || parts.channels.has(name) || !channel.isOn)
      return { kind: 'needs_restart', findings: told };
    for (const [variable, value] of Object.entries(variables)) learned.set(variable, value);
    await start(parts, channel);
    return { kind: 'started', findings: told };
  };

  let last: Promise<unknown> = Promise.resolve();
  return {
    channelSetups: () => manifests.filter(({ needs }) => needs !== 'nothing').map(setupOf),
    async setUpChannel(name, variables) {
      const manifest = manifests.find((one) => one.name === name && one.needs !== 'nothing');
      if (manifest === undefined) return undefined;
      // One after the other: two requests at once would start the channel twice.
      const turn = last.then(() => setUp(manifest, variables));
      last = turn.catch(() => undefined);
      return await turn;
    },
  };
}

function variablesOf({ needs, alsoNeeds = {} }: ChannelManifest): string[] {
  return [needs, ...Object.keys(alsoNeeds)];
}

/** Throws `GatewayError('bad_channel')` for a variable that does not belong to the channel, or that the environment sets. */
function refuseOthers(
  manifest: ChannelManifest,
  names: readonly string[],
  isFixed: (name: string) => boolean,
): void {
  const others = names.filter((name) => !variablesOf(manifest).includes(name));
  if (others.length > 0)
    throw new GatewayError('bad_channel', `${manifest.label} is not switched on by ${others.join(', ')}.`);
  const fixed = names.filter(isFixed);
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
