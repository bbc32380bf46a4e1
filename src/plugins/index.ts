/** Public API of the plug-ins: what is installed, and the hosts that run it. Code that runs processes is loaded with their first use. */
export { channelManifestOf } from './channel-facts.ts';
export { configurePlugins, type ConfiguredPlugin, pluginsRule } from './configured.ts';
export {
  type InstalledPlugin,
  type PluginFolder,
  Plugins,
  readInstalled,
  verifyPlugin,
} from './installed.ts';
export { createPluginHosts, type PluginHosts, type PluginsDeps } from './plugins.ts';
export { pluginConfinement } from './confinement.ts';
export { newRights, rightsInWords } from './rights.ts';
