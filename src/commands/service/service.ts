/** `parley service`: writes, removes and shows the file with which systemd or launchd runs the gateway. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { checkConfig, configFile, type Environment } from '../../config.ts';
import { GatewayError, toGatewayError } from '../../protocol/errors.ts';
import { PARLEY } from '../../protocol/texts/parley.ts';
import type { Machine } from './service-machine.ts';
import { launchAgent, STATE_HOME, systemUnit, userUnit } from './service-files.ts';

const ACCOUNT = 'parley';

interface Supervised {
  file: string;
  text: string;
  /** What a person runs next, after the file was written. */
  begin: string[];
  /** What stops the service before its file goes, and what is run afterwards. */
  end: [program: string, ...args: string[]];
  after: string | undefined;
  state: [program: string, ...args: string[]];
}

/** The answer of the command. */
export interface ServiceAnswer {
  text: string;
  /** False for a service that is not installed or does not run. */
  ok: boolean;
}

/**
 * `service install|uninstall|status`. Throws `GatewayError`: `usage`, `unsupported` (neither systemd nor launchd),
 * `service_differs`, `unwritable`.
 */
export function serviceCommand(args: string[], environment: Environment, machine: Machine): ServiceAnswer {
  const { act, print, replace, ...options } = readArguments(args);
  const service = supervised(options, environment, machine, print);
  if (act === 'status') return status(service, machine);
  if (act === 'uninstall') return { text: uninstall(service, machine), ok: true };
  if (print) return { text: service.text, ok: true };
  return { text: install(service, machine, replace), ok: true };
}

interface ServiceOptions {
  scope: 'system' | 'user' | undefined;
  account: string;
}

function readArguments(args: string[]): ServiceOptions & { act: string; print: boolean; replace: boolean } {
  const usage = `Expected: service install|uninstall|status [--system|--user]. See: ${PARLEY} service --help`;
  const flag = { type: 'boolean' } as const;
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: { print: flag, replace: flag, system: flag, user: flag, as: { type: 'string' } },
    });
    const [act = '', ...more] = positionals;
    const { print = false, replace = false, system = false, user = false, as } = values;
    const isOdd = more.length > 0 || (system && user) || (user && as !== undefined);
    if (isOdd || !['install', 'uninstall', 'status'].includes(act)) throw new GatewayError('usage', usage);
    if ((print || replace || as !== undefined) && act !== 'install') throw new GatewayError('usage', usage);
    if (as !== undefined && !/^[a-z_][a-z0-9_-]{0,31}$/.test(as))
      throw new GatewayError('usage', '--as takes the name of an account, such as parley.');
    const scope = system || as !== undefined ? 'system' : user ? 'user' : undefined;
    return { act, print, replace, scope, account: as ?? ACCOUNT };
  } catch (error) {
    throw error instanceof GatewayError ? error : new GatewayError('usage', usage, { cause: error });
  }
}

function supervised(
  options: ServiceOptions,
  environment: Environment,
  machine: Machine,
  print: boolean,
): Supervised {
  const { platform, hasSystemd, uid } = machine;
  if (platform === 'darwin') {
    if (options.scope !== 'system') return ofLaunchd(environment, machine);
    throw unsupported('On a Mac the gateway runs as a launch agent of one person: leave --system out.');
  }
  if (platform !== 'linux' || !(hasSystemd || print))
    throw unsupported(
      `There is neither systemd nor launchd here: let your own supervisor run "${PARLEY} start", restart it when it ends, and stop it with SIGTERM.`,
    );
  const scope = options.scope ?? (uid === 0 ? 'system' : 'user');
  return scope === 'system'
    ? ofMachine(options.account, environment, machine)
    : ofPerson(environment, machine);
}

function unsupported(text: string): GatewayError {
  return new GatewayError('unsupported', text);
}

function ofLaunchd(environment: Environment, { folder, node, userHome, uid }: Machine): Supervised {
  const file = path.join(userHome, 'Library/LaunchAgents/org.parley.gateway.plist');
  const name = `gui/${uid}/org.parley.gateway`;
  const place = { folder, home: path.dirname(configFile(environment)), node };
  return {
    file,
    text: launchAgent(place, path.join(userHome, 'Library/Logs/parley.log')),
    begin: [`launchctl bootstrap gui/${uid} ${inShell(file)}`, `launchctl print ${name}`],
    end: ['launchctl', 'bootout', name],
    after: undefined,
    state: ['launchctl', 'print', name],
  };
}

function ofPerson(environment: Environment, { folder, node, userHome }: Machine): Supervised {
  const home = path.dirname(configFile(environment));
  const base = environment['XDG_CONFIG_HOME'] || path.join(userHome, '.config');
  return {
    file: path.join(base, 'systemd/user/parley.service'),
    text: userUnit({ folder, home, node }),
    begin: [
      'systemctl --user daemon-reload && systemctl --user enable --now parley',
      'loginctl enable-linger    # it also runs while you are signed out',
      'journalctl --user -u parley -f',
    ],
    end: ['systemctl', '--user', 'disable', '--now', 'parley.service'],
    after: 'systemctl --user daemon-reload',
    state: ['systemctl', '--user', 'is-active', 'parley.service'],
  };
}

function ofMachine(account: string, environment: Environment, machine: Machine): Supervised {
  const { folder, node, root, run } = machine;
  const home = environment['GATEWAY_HOME'] ? path.dirname(configFile(environment)) : STATE_HOME;
  const { config } = checkConfig({ ...environment, GATEWAY_HOME: home });
  const exec = config?.tools.exec === true;
  const isThere = run('id', '-u', account)?.ok === true;
  const add = `useradd --system --home-dir ${inShell(home)} --shell /usr/sbin/nologin ${account}`;
  return {
    file: `${root}/etc/systemd/system/parley.service`,
    text: systemUnit({ folder, home, node, account, exec }),
    begin: [
      ...(isThere ? [] : [add]),
      'systemctl daemon-reload && systemctl enable --now parley',
      'journalctl -u parley -f',
    ],
    end: ['systemctl', 'disable', '--now', 'parley.service'],
    after: 'systemctl daemon-reload',
    state: ['systemctl', 'is-active', 'parley.service'],
  };
}

/** Writes the file, and builds: the account of the service may not write to the folder of the program. */
function install({ file, text, begin }: Supervised, machine: Machine, replace: boolean): string {
  const oldText = contentOf(file);
  if (oldText !== undefined && oldText !== text && !replace)
    throw new GatewayError(
      'service_differs',
      `${file} is there and differs from what this version writes: --replace overwrites it, --print shows the new one.`,
    );
  if (oldText !== text) write(file, text);
  const outcome = oldText === text ? `${file} is up to date.` : `Written: ${file}`;
  return [outcome, ...buildProblem(machine), 'Next:', ...begin.map((line) => `  ${line}`)].join('\n');
}

function buildProblem({ folder, node, run }: Machine): string[] {
  const build = run(node, path.join(folder, 'src/launch/build.js'));
  if (build?.ok === true) return [];
  const reason = build?.output ?? `${node} cannot be run`;
  return [
    `Parley could not be built (${reason}): until "npm ci --include=dev && npm run build" in ${folder}, the service runs from its sources.`,
  ];
}

function write(file: string, text: string): void {
  try {
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text, { mode: 0o644 });
  } catch (error) {
    const { message } = toGatewayError(error);
    throw new GatewayError('unwritable', `${file} cannot be written: ${message}`, { cause: error });
  }
}

/** Stops the service before its file goes: afterwards nothing would know its name. */
function uninstall(
  { file, end: [program, ...args], after: afterwards }: Supervised,
  { run }: Machine,
): string {
  if (!existsSync(file)) return `There is no ${file}.`;
  const command = [program, ...args].join(' ');
  const stop = run(program, ...args);
  if (stop === undefined) throw unsupported(`${program} is not there, so the service cannot be stopped.`);
  const outcome = stop.ok ? `Stopped: ${command}` : `It was not running (${command}: ${stop.output}).`;
  try {
    rmSync(file);
  } catch (error) {
    const { message } = toGatewayError(error);
    throw new GatewayError('unwritable', `${file} cannot be removed: ${message}`, { cause: error });
  }
  return [
    outcome,
    `Removed: ${file}`,
    ...(afterwards === undefined ? [] : ['Next:', `  ${afterwards}`]),
  ].join('\n');
}

function status({ file, state: [program, ...args] }: Supervised, { run }: Machine): ServiceAnswer {
  if (!existsSync(file))
    return { text: `Not installed: there is no ${file}. "${PARLEY} service install" writes it.`, ok: false };
  const answer = run(program, ...args);
  const runs = answer?.ok === true;
  const reason = answer?.output.split('\n')[0] ?? `${program} is not there`;
  return {
    text: `Installed: ${file}\n${runs ? 'It is running.' : `It is not running (${reason}).`}`,
    ok: runs,
  };
}

/** Throws `GatewayError('unreadable')`. */
function contentOf(file: string): string | undefined {
  if (!existsSync(file)) return undefined;
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { message } = toGatewayError(error);
    throw new GatewayError('unreadable', `${file} cannot be read: ${message}`, { cause: error });
  }
}

function inShell(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
