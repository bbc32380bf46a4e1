/** Variables of the environment that do not do what the person who set them expects. */
import { closestNames } from './lib/text.ts';
import { gatewayEnvironment } from './config-schema.ts';
import type { ChannelManifest } from './protocol/channel.ts';
import type { ConfiguredChannel } from './protocol/channel-manifest.ts';

type Variables = Readonly<Record<string, string>>;

/** Shortest name of a variable that a misspelling is sought for: `HOST` and `HOME` are both common. */
const MIN_MISSPELT = 8;
/** What programs read that can speak to a proxy. */
const PROXIES = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy'];

/** A sentence for each variable whose value cannot be meant as it is; none repeats a value. */
export function variableErrors(environment: Variables, channels: readonly ChannelManifest[]): string[] {
  const errors = namesOf(channels)
    .filter((name) => /^(["']).*\1$/s.test(environment[name] ?? ''))
    .map((name) => `${name}: has quotes around its value; write it without them`);
  if (!environment['GATEWAY_HOME']?.startsWith('~')) return errors;
  return [...errors, 'GATEWAY_HOME: begins with ~, which only a shell replaces; write the whole path'];
}

/** A sentence for each variable that has no effect, and looks as if it should have one. `file` is the content of `config.json`. */
export function variableWarnings(
  environment: Variables,
  manifests: readonly ChannelManifest[],
  channels: readonly ConfiguredChannel[],
  file: unknown,
): string[] {
  return [
    ...misspeltVariables(environment, manifests, file),
    ...channels.flatMap((channel) => withoutToken(environment, manifests, channel)),
    ...withoutServer(environment, file),
    ...proxyVariables(environment),
  ];
}

function namesOf(channels: readonly ChannelManifest[]): string[] {
  return [gatewayEnvironment, ...channels.map(({ env }) => env)].flatMap(({ shape }) => Object.keys(shape));
}

/** Variables that neither the gateway nor `file` reads, and that look like one of ours or of a channel. */
function misspeltVariables(
  environment: Variables,
  channels: readonly ChannelManifest[],
  file: unknown,
): string[] {
  const written = JSON.stringify(file);
  const known = namesOf(channels);
  return Object.keys(environment).flatMap((variable) => {
    if (known.includes(variable) || variable.endsWith('_FILE') || written.includes(`"${variable}"`))
      return [];
    const channel = channels.find(({ name }) => variable.startsWith(`${name.toUpperCase()}_`));
    const long = known.filter((name) => name.length >= MIN_MISSPELT && environment[name] === undefined);
    const [meant] = closestNames(variable, long);
    if (meant !== undefined) return [`${variable} is not read: did you mean ${meant}?`];
    const names = channel === undefined ? [] : Object.keys(channel.env.shape);
    return names.length === 0 ? [] : [`${variable} is not read: ${channel?.label} reads ${names.join(', ')}`];
  });
}

/** Variables of a channel that is off, because the one that it needs is missing. */
function withoutToken(
  environment: Variables,
  manifests: readonly ChannelManifest[],
  { name, label, needs, isOn }: ConfiguredChannel,
): string[] {
  const variables = manifests
    .filter((manifest) => manifest.name === name)
    .flatMap(({ env }) => Object.keys(env.shape));
  const lonely = isOn ? [] : variables.filter((variable) => environment[variable] !== undefined);
  return lonely.map((variable) => `${variable} is set, but ${label} is off: it needs ${needs}, too`);
}

function withoutServer(environment: Variables, file: unknown): string[] {
  const isUsed =
    environment['OPENAI_BASE_URL'] !== undefined || JSON.stringify(file).includes('"OPENAI_API_KEY"');
  if (environment['OPENAI_API_KEY'] === undefined || isUsed) return [];
  return [
    'OPENAI_API_KEY is set, but no server uses it: set OPENAI_BASE_URL, too, such as https://api.openai.com/v1',
  ];
}

function proxyVariables(environment: Variables): string[] {
  const proxy = PROXIES.find((name) => environment[name] !== undefined);
  return proxy === undefined
    ? []
    : [`${proxy} is not read: Parley connects to networks and model servers directly`];
}
