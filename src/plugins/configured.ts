/** The installed plug-ins with their settings, from the environment and `plugins.<name>` of `config.json`. */
import { z } from 'zod';
import type { PluginManifest } from '../protocol/plugin.ts';
import { schemaOfSetting, schemasOfSettings } from './channel-facts.ts';
import type { InstalledPlugin } from './installed.ts';
import { isVariable } from './manifest.ts';
import type { PluginSettings } from './rights.ts';

/** An installed plug-in as it is set up. */
export interface ConfiguredPlugin extends InstalledPlugin {
  settings: PluginSettings;
  /** Required settings without a value: its process is not started before they have one. */
  missing: readonly string[];
  secrets: readonly string[];
}

/** `plugins` of `config.json` for these plug-ins. */
export function pluginsRule(plugins: readonly { manifest: PluginManifest }[]) {
  const fields = plugins.map(
    ({ manifest }) =>
      [manifest.name, z.strictObject(schemasOfSettings(manifest, 'fields')).prefault({})] as const,
  );
  const shape: Record<
    string,
    z.ZodType<Record<string, unknown>, Record<string, unknown> | undefined>
  > = Object.fromEntries(fields);
  return z.strictObject(shape).prefault({});
}

/** Joins both; `errors` are sentences that begin with the variable. */
export function configurePlugins(
  installed: readonly InstalledPlugin[],
  file: Readonly<Record<string, Record<string, unknown>>>,
  env: Readonly<Record<string, string | undefined>>,
): { plugins: ConfiguredPlugin[]; errors: string[] } {
  const errors: string[] = [];
  const plugins = installed.map((plugin): ConfiguredPlugin => {
    const { name, settings: list = [], channel } = plugin.manifest;
    const values: Record<string, string | number | boolean> = {};
    const secrets: string[] = [];
    for (const setting of list) {
      const raw = isVariable(setting.name) ? env[setting.name] : file[name]?.[setting.name];
      const { data, error } = schemaOfSetting(setting).safeParse(raw);
      // The variables of a channel are checked with all others.
      if (error && channel === undefined && isVariable(setting.name))
        errors.push(`${setting.name}: must be a ${setting.type ?? 'text'}, for the plug-in ${name}`);
      if (typeof data !== 'string' && typeof data !== 'number' && typeof data !== 'boolean') continue;
      values[setting.name] = data;
      if (setting.secret === true) secrets.push(String(data));
    }
    const missing = list.filter((one) => one.required === true && values[one.name] === undefined);
    return { ...plugin, settings: values, missing: missing.map((one) => one.name), secrets };
  });
  return { plugins, errors };
}
