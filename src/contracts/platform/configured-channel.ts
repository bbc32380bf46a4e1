/** A channel as configured in one gateway. */
import { accessRules, type ChannelAccess } from '../access.ts';
import type { Channel, ChannelDeps, ChannelManifest } from '../channel.ts';
import type { CheckContext, Finding } from '../operator/findings.ts';

/** A channel of the list with its configuration from the environment and the file. */
export interface ConfiguredChannel extends Pick<
  ChannelManifest,
  'name' | 'label' | 'writeCommand' | 'needs' | 'ids' | 'secretShapes'
> {
  isOn: boolean;
  /** Undefined for a channel without its own user ids. */
  access: ChannelAccess | undefined;
  secrets: readonly string[];
  /** Loads the channel's code and makes it. Throws `GatewayError`. */
  create: (deps: ChannelDeps) => Promise<Channel>;
  /** As `check` of the manifest; finds nothing if that is absent. */
  check: (context: CheckContext) => Promise<Finding[]>;
}

/**
 * Joins a manifest with the environment, already checked (throws `ZodError` otherwise), and with the file as it was
 * read.
 */
export function configureChannel(
  manifest: ChannelManifest,
  variables: Record<string, unknown>,
  file: {
    access: Record<string, unknown> & { owners: Record<string, string[]> };
    settings: Record<string, Record<string, unknown>>;
  },
): ConfiguredChannel {
  const { name, label, writeCommand, needs, ids, secretShapes } = manifest;
  const env = manifest.env.parse(variables);
  const settings = file.settings[name] ?? {};
  const access: ChannelAccess | undefined = ids && {
    ...accessRules(ids).parse(file.access[name]),
    owners: file.access.owners[name] ?? [],
    privacyOf: ids.privacyOf,
    threadsAreChats: ids.threadsAreChats,
  };
  return {
    name,
    label,
    writeCommand,
    needs,
    ids,
    secretShapes,
    isOn: manifest.isOn(env),
    access,
    secrets: manifest.secrets(env).flatMap((secret) => secret || []),
    create: (deps) => manifest.create({ env, settings }, deps),
    check: async (context) => (await manifest.check?.({ env, settings, access }, context)) ?? [],
  };
}
