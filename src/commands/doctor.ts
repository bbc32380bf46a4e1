/** `parley doctor`: checks everything a gateway needs, says what is wrong and how to correct it. */
import { existsSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import path from 'node:path';
import packageFile from '../../package.json' with { type: 'json' };
import pino from 'pino';
import { checkConfig, type Config, type Environment, secretsOf, zoneOf } from '../config.ts';
import { redactor } from '../ops/log.ts';
import { confinementSentence, kindsWith, openPluginHosts, verifyInstalled } from '../plugin-setup.ts';
import { type ConfiguredPlugin, pluginConfinement, type PluginHosts } from '../plugins/index.ts';
import { lineOf } from '../settings/index.ts';
import { writesDailyBackups } from '../daily-backups.ts';
import { toGatewayError } from '../protocol/errors.ts';
import type { McpServerStatus } from '../protocol/agent/tool.ts';
import type { CheckContext, Finding, KeyStore } from '../protocol/channel.ts';
import type { DatabaseReport } from '../protocol/operator/nodes.ts';
import { hostsOf } from '../lib/connection-url.ts';
import { escapeControls } from '../lib/text.ts';
import { newestBackup } from '../ops/daily-backups.ts';
import { applyFixes, findingLines, findingsJson, summary } from '../ops/doctor/report.ts';
import { backupFinding, databaseFindings } from '../ops/doctor/database.ts';
import {
  brokenFinding,
  diskFinding,
  homeFinding,
  mcpFindings,
  nodeFinding,
  packagesFinding,
  timeZoneFinding,
} from '../ops/doctor/machine.ts';
import { modelFindings, omissionFindings } from '../ops/doctor/model.ts';
import { openModelServers } from '../providers/index.ts';
import { homeOf } from '../launch/default-home.js';
import { openPlaces } from '../security/index.ts';
import { makeHome, holderOf, inspectDatabase } from '../store/index.ts';
import { findReaderConfinement } from '../media/index.ts';
import { sandboxProblem } from '../tools/index.ts';
import { PARLEY } from '../protocol/texts/parley.ts';
import { readArguments } from './arguments.ts';

/** Longest wait for any one remote side, in milliseconds. */
const CHECK_MS = 10_000;

/** Runs `doctor`: returns its text, and false if it found an error. Throws `GatewayError('usage')`. */
export async function doctorCommand(
  args: string[],
  environment: Environment,
  { colours }: { colours: boolean },
): Promise<{ text: string; ok: boolean }> {
  const { fix, json } = readArguments(args, `Expected: doctor [--fix] [--json]. See: ${PARLEY} --help`, {
    options: { fix: { type: 'boolean' }, json: { type: 'boolean' } },
  }).values;
  let findings = await examine(environment);
  const fixed = fix ? await applyFixes(findings) : [];
  if (fixed.length > 0) findings = await examine(environment);
  const ok = findings.every(({ level }) => level !== 'error');
  if (json) return { text: findingsJson(findings), ok };
  const lines = [...fixed.map(escapeControls), ...findingLines(findings, { colours }), '', summary(findings)];
  return { text: lines.join('\n'), ok };
}

/** All findings, in the order in which a person would correct them. */
async function examine(environment: Environment): Promise<Finding[]> {
  const { config, problems } = checkConfig(environment);
  const home = homeOf(environment);
  // A home that cannot be read is a separate finding below.
  const holder = existsSync(home) ? await holderOf(home).catch(() => undefined) : undefined;
  const open = openPlaces(home);
  const reported = new Set(open.map(({ text }) => text));
  const settings = problems.filter(({ text }) => !reported.has(text));
  const first = [
    nodeFinding(process.versions.node, packageFile.engines.node, packageFile.version),
    packagesFinding(Object.keys(packageFile.optionalDependencies)),
    homeFinding(home, holder, makeHome),
    ...open.map(permissionFinding),
    guarded('Disk', () => diskFinding(home)),
    ...(settings.length > 0
      ? settings.map((problem): Finding => settingFinding(lineOf(problem)))
      : [settingsFine(home)]),
    ...(config?.warnings ?? [])
      .filter((text) => !reported.has(text))
      .map((text): Finding => ({ subject: 'Settings', level: 'warning', text })),
  ];
  // A configuration that only its permissions keep from starting is checked all the same.
  const usable =
    config ??
    (settings.length === 0 ? checkConfig({ ...environment }, { permissions: false }).config : undefined);
  if (usable === undefined) return first;
  return [...first, ...(await examineParts(usable, holder !== undefined))];
}

async function examineParts(config: Config, running: boolean): Promise<Finding[]> {
  const context: CheckContext = { signal: AbortSignal.timeout(CHECK_MS), running };
  const configured = config.schedules.timeZone !== undefined;
  const database = askDatabase(config);
  const groups = await Promise.all([
    database.then(({ findings }) => findings),
    database.then(({ report }) => examineBackups(config, report, running)),
    database.then(({ report }) => examineModel(config, report, context.signal)),
    ...config.channels.map(async ({ isOn, label, needs, check }): Promise<Finding[]> =>
      isOn ? await check(context) : [{ subject: label, level: 'ok', text: `Off: it needs ${needs}.` }],
    ),
    examineSandbox(config),
    examinePlugins(config, context),
    examineFileReader(),
    database.then(({ servers }) =>
      mcpFindings(programsOf(config), servers, config.environment['PATH'] ?? ''),
    ),
  ]);
  return [timeZoneFinding(zoneOf(config), config.environment['TZ'], configured), ...groups.flat()];
}

interface Asked {
  findings: Finding[];
  report?: DatabaseReport;
  servers: readonly McpServerStatus[];
}

async function askDatabase({ home, env }: Config): Promise<Asked> {
  try {
    const report = await inspectDatabase({ home, databaseUrl: env.DATABASE_URL });
    const servers = report.state === 'open' ? report.servers : [];
    return { findings: databaseFindings(report, home), report, servers };
  } catch (error) {
    const url = env.DATABASE_URL;
    const remedy =
      url === undefined ? undefined : `start Postgres at ${hostsOf(url).join(', ')}, or correct DATABASE_URL`;
    return { findings: [brokenFinding('Database', error, remedy)], servers: [] };
  }
}

async function examineModel(
  config: Config,
  report: DatabaseReport | undefined,
  signal: AbortSignal,
): Promise<Finding[]> {
  const hosts = openHosts(config);
  try {
    const kinds = kindsWith(config.plugins, hosts);
    const { provider, model, usual } = await openModelServers(config, { kinds });
    try {
      const open = report?.state === 'open' ? report : undefined;
      return [
        ...(await modelFindings(provider, model, open?.model, usual, signal)),
        ...omissionFindings(open?.omissions ?? []),
      ];
    } finally {
      await provider.close();
      await hosts.close();
    }
  } catch (error) {
    return [brokenFinding('Model', error)];
  }
}

async function examineBackups(
  config: Config,
  report: DatabaseReport | undefined,
  isRunning: boolean,
): Promise<Finding[]> {
  const newest = await newestBackup(config.home);
  const reports = report?.state === 'open' ? report.backups : [];
  const kind = config.env.DATABASE_URL === undefined ? 'embedded' : 'postgres';
  const checks = { isOn: writesDailyBackups(config), kind, newest, reports, isRunning } as const;
  return [backupFinding(checks, new Date())];
}

/** Programs are off: fine, unless the settings name the tool that runs them. */
function sandboxUnused(subject: string, enabled: readonly string[]): Finding {
  if (!enabled.includes('exec')) return { subject, level: 'ok', text: 'Not needed: tools.exec is off.' };
  const text = 'tools.enabled names exec, which the model is not offered because tools.exec is off.';
  return { subject, level: 'warning', text, remedy: `${PARLEY} config set tools.exec true` };
}

async function examineSandbox({ tools, home }: Config): Promise<Finding[]> {
  const subject = 'Sandbox';
  if (!tools.exec) return [sandboxUnused(subject, tools.enabled ?? [])];
  const problem = existsSync(home)
    ? await sandboxProblem({ home, hidden: [path.join(home, 'workspace')] })
    : 'The home does not exist yet.';
  if (problem === undefined)
    return [{ subject, level: 'ok', text: 'Programs of the model run in bubblewrap.' }];
  const remedy = `do what the sentence says, or: ${PARLEY} config set tools.exec false`;
  return [{ subject, level: 'error', text: problem, remedy }];
}

/** A store for a look at a plug-in: there is no database behind it. */
const NO_KEYS: KeyStore = {
  version: () => Promise.resolve(0),
  records: () => Promise.resolve({ version: 0, records: new Map() }),
  changeKeys: () => Promise.resolve(false),
};

function openHosts(config: Config): PluginHosts {
  const redact = redactor(secretsOf(config));
  return openPluginHosts(config, { keys: NO_KEYS, log: pino({ level: 'silent' }), redact });
}

async function examinePlugins(config: Config, { signal }: CheckContext): Promise<Finding[]> {
  if (config.plugins.length === 0) return [];
  const hosts = openHosts(config);
  try {
    const found = await Promise.all(config.plugins.map((plugin) => examinePlugin(plugin, hosts, signal)));
    const isGuarded = (await pluginConfinement()) !== 'open';
    const text = await confinementSentence();
    const remedy = isGuarded ? undefined : 'apt-get install bubblewrap; then allow user namespaces';
    return [{ subject: 'Plug-ins', level: isGuarded ? 'ok' : 'warning', text, remedy }, ...found.flat()];
  } finally {
    await hosts.close();
  }
}

async function examinePlugin(
  plugin: ConfiguredPlugin,
  hosts: PluginHosts,
  signal: AbortSignal,
): Promise<Finding[]> {
  const { manifest, missing } = plugin;
  const subject = manifest.label;
  try {
    await verifyInstalled(plugin);
    if (missing.length > 0)
      return [{ subject, level: 'ok', text: `Not started: it needs ${missing.join(', ')}.` }];
    const findings = await hosts.check(manifest.name, signal);
    const text = `The plug-in ${manifest.name} ${manifest.version} has the files that were installed.`;
    return [{ subject, level: 'ok', text }, ...findings];
  } catch (error) {
    return [brokenFinding(subject, error, `${PARLEY} plugin check ${manifest.name}`)];
  }
}

async function examineFileReader(): Promise<Finding[]> {
  const subject = 'Files';
  const way = await findReaderConfinement();
  if (way !== 'open')
    return [{ subject, level: 'ok', text: `Files that people send are read without network, in ${way}.` }];
  const text =
    'Files that people send are read by a program that can reach the network: neither bubblewrap nor unshare works here.';
  const remedy =
    'apt-get install bubblewrap; if it is installed, allow user namespaces to this user, service or container';
  return [{ subject, level: 'warning', text, remedy }];
}

function programsOf({ mcpServers }: Config) {
  return mcpServers.map(({ name, connection }) => ({
    name,
    command: connection.kind === 'stdio' ? connection.command : undefined,
    cwd: connection.kind === 'stdio' ? connection.cwd : undefined,
  }));
}

function permissionFinding({ place, mode, text, isError }: ReturnType<typeof openPlaces>[number]): Finding {
  const [problem = text, remedy] = text.split('; run: ');
  const fix = `changed the mode of ${place} to ${mode.toString(8)}`;
  const level = isError ? 'error' : 'warning';
  return {
    subject: 'Permissions',
    level,
    text: `${problem}.`,
    remedy,
    fix: { done: fix, apply: () => chmod(place, mode) },
  };
}

function settingFinding(text: string): Finding {
  return {
    subject: 'Settings',
    level: 'error',
    text,
    remedy: `correct it; ${PARLEY} config validate checks again`,
  };
}

function settingsFine(home: string): Finding {
  const file = path.join(home, 'config.json');
  const text = existsSync(file)
    ? `${file} is valid.`
    : 'There is no config.json: every setting has its default.';
  return { subject: 'Settings', level: 'ok', text };
}

function guarded(subject: string, look: () => Finding): Finding {
  try {
    return look();
  } catch (error) {
    return { subject, level: 'error', text: toGatewayError(error).message };
  }
}
