/**
 * The configuration while the gateway runs: which changed fields of `config.json` take effect at once, and which wait.
 */
import { checkConfig, type Config, configFile, type Environment } from './config.ts';
import type { GatewayFile } from './config-schema.ts';
import type { Log } from './protocol/log.ts';
import {
  type ConfigFile,
  createLiveSettings,
  differences,
  type LiveSettings,
  problemLines,
  watchFolders,
} from './settings/index.ts';

/** For every field: does a change wait for a restart? A list names the fields in it that do. */
const AFTER_RESTART: Readonly<
  Record<keyof GatewayFile | 'access' | 'channels', boolean | readonly string[]>
> = {
  $schema: false,
  access: false,
  afterTurn: false,
  approvals: false,
  backup: false,
  bindings: false,
  channels: true,
  heartbeat: false,
  hooks: false,
  language: false,
  limits: false,
  mcp: false,
  media: true,
  memory: false,
  transcription: true,
  persona: false,
  plugins: true,
  prices: false,
  providers: true,
  proxySignIn: false,
  retention: false,
  schedules: false,
  search: false,
  speech: false,
  tools: false,
  turns: ['concurrency'],
  webhooks: false,
};
const RULES = new Map(Object.entries(AFTER_RESTART));
/** The same as a list: `media` with all that it holds, `turns.concurrency` alone. */
const RESTART_FIELDS = [...RULES].flatMap(([field, rule]) =>
  typeof rule === 'boolean' ? (rule ? [field] : []) : rule.map((inner) => `${field}.${inner}`),
);

/** Of these fields, by dotted name, those that take effect after a restart. */
function waiting(fields: readonly string[]): string[] {
  return fields.filter((field) => {
    const [top = '', inner = ''] = field.split('.');
    const rule = RULES.get(top) ?? true;
    return typeof rule === 'boolean' ? rule : rule.includes(inner);
  });
}

/** The configuration in effect after a change to `next` in a gateway that runs with `now`. */
function join(now: Config, next: Config): Config {
  const { modelServers, media, turns, channels, manifests, plugins } = now;
  return Object.freeze({
    ...next,
    modelServers,
    media,
    manifests,
    plugins,
    turns: { ...next.turns, concurrency: turns.concurrency },
    // A plug-in that was added or removed meanwhile waits for a restart.
    channels: channels.map((channel) => {
      const { access } = next.channels.find(({ name }) => name === channel.name) ?? channel;
      return { ...channel, access };
    }),
  });
}

/** The settings of a gateway that starts with this configuration; `pollMs` as in `watchFolders`. */
export function openSettings(config: Config, log: Log, pollMs?: number): LiveSettings<Config> {
  return createLiveSettings(
    config,
    {
      file: config.source.file,
      read(text) {
        const { config: values, problems } = config.source.check(text);
        return values === undefined ? { errors: problemLines(problems) } : { values };
      },
      join,
      changed: (before, after) => differences(before.source.values, after.source.values),
      waiting,
    },
    { watch: (onChange) => watchFolders(onChange, log, pollMs), log },
  );
}

/** `config.json` of this environment, for `parley config`. */
export function editableConfig(environment: Environment): ConfigFile {
  const valuesOf = (text: string) => checkConfig(environment, { text }).values ?? {};
  return {
    file: configFile(environment),
    check(text) {
      const { problems, values, config } = checkConfig(environment, { text });
      return { problems, values, warnings: config?.warnings ?? [] };
    },
    needsRestart: (before, after) => waiting(differences(valuesOf(before), valuesOf(after))),
    afterRestart: RESTART_FIELDS,
  };
}

/** What new sessions begin with, as it is now. */
export function newSessionsOf(settings: LiveSettings<Config>) {
  return {
    get mode() {
      return settings.current().turns.mode;
    },
    get queueMode() {
      return settings.current().turns.queueMode;
    },
  };
}
