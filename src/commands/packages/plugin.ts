/** `parley plugin`: an owner lists, adds, checks, updates, pins and removes plug-ins. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pino from 'pino';
import { type Config, loadConfig, secretsOf } from '../../config.ts';
import { escapeControls } from '../../lib/text.ts';
import { redactor } from '../../ops/log.ts';
import { confinementSentence, folderTools, kindsWith, verifyInstalled } from '../../plugin-setup.ts';
import {
  type ConfiguredPlugin,
  configurePlugins,
  type InstalledPlugin,
  newRights,
  type PluginFolder,
  Plugins,
  rightsInWords,
} from '../../plugins/index.ts';
import type { Verdict } from '../../plugins/check.ts';
import { GatewayError } from '../../protocol/errors.ts';
import { PARLEY } from '../../protocol/texts/parley.ts';
import { openEgressProxy } from '../../security/index.ts';
import { writeWhole } from '../../settings/index.ts';
import * as skills from '../../skills/index.ts';
import { readArguments } from '../arguments.ts';
import { type Dialog, openDialog } from '../dialog.ts';

const USAGE = `Expected: plugin [list] | add SOURCE [--yes] | check NAME|FOLDER | update [NAME] [--yes] | pin NAME [--off] | remove NAME [--data]. See: ${PARLEY} plugin --help`;

/** What an answer at the terminal begins with that agrees. */
const YES = /^y/i;
/** A package of npm as people write it; a file of that name comes first. */
const NPM_NAME = /^(@[a-z0-9~-][\w.~-]*\/)?[a-z0-9~-][\w.~-]*(@[\w.^~<>=*-]+)?$/i;

/** What the subcommands work with. */
interface Work {
  config: Config;
  plugins: Plugins;
  dialog: Dialog;
  agrees: boolean;
}

/** Reads and runs the arguments after `plugin`; returns the text to print. Throws `GatewayError`. */
export async function pluginCommand(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  dialog: Dialog = openDialog(process.stdin.isTTY ? process.stdin : undefined, process.stdout),
): Promise<string> {
  const options = {
    yes: { type: 'boolean', default: false },
    off: { type: 'boolean', default: false },
    data: { type: 'boolean', default: false },
  } as const;
  const { positionals, values } = readArguments(args, USAGE, { options, allowPositionals: true });
  const [action = 'list', name, ...more] = positionals;
  const config = loadConfig(env);
  const work = {
    config,
    plugins: new Plugins(config.home, writeWhole, folderTools),
    dialog,
    agrees: values.yes,
  };
  try {
    if (more.length > 0) throw new GatewayError('usage', USAGE);
    if (action === 'list' && name === undefined) return await list(work);
    if (action === 'update') return await update(work, name);
    if (name === undefined) throw new GatewayError('usage', USAGE);
    if (action === 'add') return await add(work, name);
    if (action === 'check') return await check(work, name);
    if (action === 'pin') return pin(work, name, !values.off);
    if (action === 'remove') return await remove(work, name, values.data);
    throw new GatewayError('usage', USAGE);
  } finally {
    dialog.close();
  }
}

async function list({ config, plugins }: Work): Promise<string> {
  const problems = config.warnings.filter((text) => text.startsWith('The plug-in '));
  if (config.plugins.length + problems.length === 0)
    return `No plug-ins yet. Add one from a folder, a .tgz file, a Git repository or npm: ${PARLEY} plugin add SOURCE`;
  const lines = await Promise.all(
    config.plugins.map(async (plugin) => {
      const { manifest, source, pinned, missing } = plugin;
      const state = [
        `version ${manifest.version}`,
        kindsOf(plugin),
        ...((await plugins.isChanged(plugin)) ? ['changed since it was installed: it is not started'] : []),
        ...(missing.length > 0 ? [`needs ${missing.join(', ')}`] : []),
        ...(pinned ? ['pinned'] : []),
        `from ${source}`,
      ];
      return `${manifest.name}  (${state.join(', ')})\n  ${escapeControls(manifest.description ?? manifest.label)}`;
    }),
  );
  return [...lines, ...problems.map((problem) => `problem: ${problem}`), await confinementSentence()].join(
    '\n',
  );
}

function kindsOf({ manifest }: Pick<InstalledPlugin, 'manifest'>): string {
  const { channel, tools, provider, skills: folders } = manifest;
  return [
    ...(channel ? ['a channel'] : []),
    ...(tools ? [`${tools.length} ${tools.length === 1 ? 'tool' : 'tools'}`] : []),
    ...(provider ? ['a kind of model server'] : []),
    ...(folders ? [`${folders.length} ${folders.length === 1 ? 'skill' : 'skills'}`] : []),
  ].join(' and ');
}

/** What an owner agrees to. */
function describe({ manifest, contents, hash }: PluginFolder): string {
  const bytes = contents.reduce((sum, one) => sum + one.bytes.length, 0);
  return [
    `${manifest.name} ${manifest.version}: ${manifest.description ?? manifest.label}`,
    `  brings: ${kindsOf({ manifest })}`,
    `  files: ${contents.length}, ${Math.ceil(bytes / 1024)} KiB; SHA-256 ${hash.slice(0, 16)}…`,
    '  may:',
    ...rightsInWords(manifest).map((right) => `    ${right}`),
  ]
    .map(escapeControls)
    .join('\n');
}

async function add(work: Work, name: string): Promise<string> {
  const { plugins, config, dialog, agrees } = work;
  const source = sourceOf(name);
  return await plugins.withSource(source, async (folder, place) => {
    const { manifest } = folder;
    if (config.plugins.some((one) => one.manifest.name === manifest.name))
      throw new GatewayError(
        'plugin_exists',
        `There is a plug-in ${manifest.name} already. ${PARLEY} plugin update ${manifest.name} fetches it again; ${PARLEY} plugin remove ${manifest.name} makes room for another one.`,
      );
    refuseTakenNames(config, folder);
    dialog.say(`${describe(folder)}\n  ${await confinementSentence()}`);
    const isAgreed =
      agrees || YES.test(await dialog.ask(`Add ${manifest.name} with these rights? [y/N]`, ''));
    if (!isAgreed) return `Not added: ${manifest.name}. --yes agrees without a question.`;
    const verdicts = await verdictsOf(config, folder);
    dialog.say(verdictLines(verdicts));
    refuseFailed(manifest.name, verdicts);
    await plugins.store(folder, source);
    await storeSkills(config, folder, place, source);
    return `Added: ${manifest.name}. ${nextStep(folder)}`;
  });
}

/** A folder or file of that name, else a package of npm. */
function sourceOf(name: string): string {
  const isPath = /[/\\]/.test(name.replace(/^@[^/]+\//, '')) || name.startsWith('.');
  return !isPath && NPM_NAME.test(name) && !existsSync(name) ? `npm:${name}` : name;
}

/** Its name is that of a channel, a kind of model server and the tools of a server. */
function refuseTakenNames(config: Config, { manifest: { name } }: PluginFolder): void {
  const owner =
    config.manifests.find((one) => one.name === name)?.label ??
    kindsWith([]).find(({ kind }) => kind === name)?.kind ??
    config.mcpServers.find((one) => one.name === name)?.name;
  if (owner !== undefined)
    throw new GatewayError(
      'bad_plugin',
      `The name ${name} is taken here, by ${owner}: the plug-in needs another one.`,
    );
}

function nextStep({ manifest: { name, channel, settings = [] } }: PluginFolder): string {
  const required = settings.filter((one) => one.required === true).map((one) => one.name);
  const set =
    required.length === 0
      ? ''
      : `Set ${required.join(', ')} (in the environment or the .env file of the home); then r`;
  const restart = `${set === '' ? 'R' : ''}estart the gateway.`;
  const people = channel === undefined ? '' : ` Its access rules are access.${name} in config.json.`;
  return `${set}${restart}${people}`;
}

async function check(work: Work, name: string): Promise<string> {
  const { config, plugins } = work;
  const installed = config.plugins.find(({ manifest }) => manifest.name === name);
  const verdicts =
    installed === undefined
      ? await plugins.withSource(sourceOf(name), (folder) => verdictsOf(config, folder))
      : await verdictsOn(config, installed, () => verifyInstalled(installed));
  const text = verdictLines(verdicts);
  if (verdicts.some(({ result }) => result === 'failed')) throw new GatewayError('plugin_fails', text);
  return text;
}

/** The verdicts on files that are not installed yet: on a copy, because that is what will run. */
async function verdictsOf(config: Config, fresh: PluginFolder): Promise<Verdict[]> {
  const { manifest, hash } = fresh;
  const place = await mkdtemp(path.join(tmpdir(), 'parley-check-'));
  const [folder, dataFolder] = [path.join(place, manifest.name), path.join(place, 'data')];
  const candidate: InstalledPlugin = { manifest, folder, dataFolder, hash, source: folder, pinned: false };
  const fields: Record<string, Record<string, unknown>> = Object(config.source.values['plugins']);
  try {
    await skills.writeContents(folder, fresh);
    const { plugins } = configurePlugins([candidate], fields, config.environment);
    const verdicts = plugins.map((plugin) => verdictsOn(config, plugin, () => verifyInstalled(plugin)));
    return (await Promise.all(verdicts)).flat();
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

async function verdictsOn(
  config: Config,
  plugin: ConfiguredPlugin,
  verify: () => Promise<void>,
): Promise<Verdict[]> {
  const { checkPlugin } = await import('../../plugins/check.ts');
  const { secrets, shapes } = secretsOf(config);
  const redact = redactor({ secrets: [...secrets, ...plugin.secrets], shapes });
  const log = pino({ level: 'silent' });
  return await checkPlugin({ plugin, log, redact, openProxy: openEgressProxy, verify });
}

function verdictLines(verdicts: readonly Verdict[]): string {
  return verdicts
    .map(
      ({ what, result, detail }) => `${result.padEnd(8)}${what}${detail === undefined ? '' : `: ${detail}`}`,
    )
    .join('\n');
}

function refuseFailed(name: string, verdicts: readonly Verdict[]): void {
  const failures = verdicts.filter(({ result }) => result === 'failed');
  if (failures.length === 0) return;
  const what = failures.map((one) => one.what).join('; ');
  throw new GatewayError(
    'plugin_fails',
    `${name} does not keep the contract, and is not installed. Failed: ${what}.`,
  );
}

/** Its skills are those of any other source: trusted, because an owner has agreed to the plug-in. */
async function storeSkills(
  config: Config,
  { manifest }: PluginFolder,
  place: string,
  source: string,
): Promise<void> {
  if (manifest.skills === undefined) return;
  const store = new skills.Skills(config.home, path.join(config.home, 'workspace', 'skills'), writeWhole);
  const folders = await Promise.all(
    manifest.skills.map((name) => skills.readSkillFolder(path.join(place, name))),
  );
  await store.store(folders, source, true);
}

async function update(work: Work, name: string | undefined): Promise<string> {
  const { config, plugins } = work;
  const all = name === undefined ? config.plugins : [plugins.find(name)];
  const lines: string[] = [];
  for (const plugin of all) {
    if (name === undefined && plugin.pinned)
      lines.push(`${plugin.manifest.name}: pinned at ${plugin.manifest.version}.`);
    else lines.push(await updateOne(work, plugin));
  }
  return lines.length === 0 ? 'There are no plug-ins.' : lines.join('\n');
}

async function updateOne(work: Work, plugin: InstalledPlugin): Promise<string> {
  const { config, plugins, dialog, agrees } = work;
  const { source, manifest: previous } = plugin;
  return await plugins.withSource(source, async (fresh, place) => {
    const { name, version } = fresh.manifest;
    if (name !== previous.name)
      return `${previous.name}: ${source} holds the plug-in ${name} now; the installed one stays.`;
    const isChanged = await plugins.isChanged(plugin);
    if (fresh.hash === plugin.hash && !isChanged) return `${name}: nothing is new.`;
    const current = await plugins.read(plugin.folder).catch(() => ({ contents: [] }));
    const wider = newRights(previous, fresh.manifest);
    dialog.say(
      [
        `${name} ${previous.version} → ${version}`,
        ...(wider.length === 0 ? [] : ['  new rights:', ...wider.map((right) => `    ${right}`)]),
        skills.describeChanges(current, fresh),
      ].join('\n'),
    );
    const isAgreed = agrees || YES.test(await dialog.ask(`Install this version of ${name}? [y/N]`, ''));
    if (!isAgreed) return `${name}: the installed version stays.${agrees ? '' : ' --yes agrees.'}`;
    const verdicts = await verdictsOf(config, fresh);
    dialog.say(verdictLines(verdicts));
    refuseFailed(name, verdicts);
    await plugins.store(fresh, source);
    await storeSkills(config, fresh, place, source);
    return `Updated: ${name}. Restart the gateway.`;
  });
}

function pin({ plugins }: Work, name: string, pinned: boolean): string {
  const plugin = plugins.find(name);
  plugins.pin(plugin, pinned);
  return pinned
    ? `Pinned: ${name} at ${plugin.manifest.version}. An update of all plug-ins leaves it alone.`
    : `Not pinned any more: ${name}.`;
}

async function remove({ plugins }: Work, name: string, withData: boolean): Promise<string> {
  const plugin = plugins.find(name);
  await plugins.remove(plugin, withData);
  const rest = withData ? '' : ` What it has kept stays in ${plugin.dataFolder}; --data removes it, too.`;
  return `Removed: ${name}. Restart the gateway.${rest}`;
}
