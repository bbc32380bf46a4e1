/** The files with which systemd and launchd run a gateway: those in docs/service, and those that `parley service` writes. */
import packageFile from '../../../package.json' with { type: 'json' };
import { GatewayError } from '../../protocol/errors.ts';

/** Where a gateway is run, and how. All paths are absolute. */
export interface ServicePlace {
  folder: string;
  /** `GATEWAY_HOME`. */
  home: string;
  node: string;
}

/** A systemd service of the machine, which runs under an account of its own. */
export interface SystemService extends ServicePlace {
  account: string;
  /** The tool `exec` is on: its sandbox makes namespaces and mounts. */
  exec: boolean;
}

/** Where systemd keeps the state of the service, unless another home is named. */
export const STATE_HOME = '/var/lib/parley';

/** What follows `node`: a service needs no npm. */
const ARGUMENTS = packageFile.scripts.start.replace(/^exec node /, '');

/** A stop leaves running turns in order, which takes up to 25 s. */
const STOP_SECONDS = 30;

/** Filters of system calls and the like, which a service of a person may have, too. */
const FILTERS = `UMask=0077
NoNewPrivileges=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
SystemCallArchitectures=native
TasksMax=512`;

const NO_SANDBOX = `# The sandbox of the tool exec makes namespaces and mounts: take these out where tools.exec is on. Files that people
# send are read in a network namespace of their own.
RestrictNamespaces=user net ipc
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectProc=invisible
SystemCallFilter=@system-service
SystemCallFilter=~@privileged
SystemCallErrorNumber=EPERM
`;

/** The unit of the machine, for `/etc/systemd/system`. Throws `GatewayError('usage')` for a path that no unit can have. */
export function systemUnit({ folder, home, node, account, exec }: SystemService): string {
  const isInHomes = [folder, home].some((at) => /^\/(home|root|run\/user)\//.test(`${at}/`));
  const state =
    home === STATE_HOME
      ? '# /var/lib/parley, for this user only.\nStateDirectory=parley\nStateDirectoryMode=0700'
      : `ReadWritePaths=${quoted(home)}`;
  return `[Unit]
Description=Parley, a chat-bot gateway
After=network-online.target postgresql.service ollama.service
Wants=network-online.target

[Service]
User=${inUnit(account)}
${state}
# Tokens and other variables, mode 0600; GATEWAY_HOME/.env is read, too.
EnvironmentFile=-/etc/parley.env
${runs({ folder, home, node })}
# Hardening. Code that is compiled while it runs needs memory that is writable and executable.
${FILTERS}
CapabilityBoundingSet=
AmbientCapabilities=
ProtectSystem=strict
ProtectHome=${isInHomes ? 'read-only' : 'yes'}
PrivateTmp=yes
PrivateDevices=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
${exec ? '' : NO_SANDBOX}
[Install]
WantedBy=multi-user.target
`;
}

/** The unit of a person, whose service manager cannot mount: only filters harden it. Throws `GatewayError('usage')`. */
export function userUnit(place: ServicePlace): string {
  return `[Unit]
Description=Parley, a chat-bot gateway

[Service]
${runs(place)}
# Hardening, as far as a service without an account of its own can have it.
${FILTERS}

[Install]
WantedBy=default.target
`;
}

function runs({ folder, home, node }: ServicePlace): string {
  return `WorkingDirectory=${inUnit(folder)}
Environment=NODE_ENV=production ${quoted(`GATEWAY_HOME=${home}`)}
# Not npm: nothing stands between systemd and the gateway.
ExecStart=${node === ENV_NODE ? node : quoted(node)} ${ARGUMENTS}
Restart=always
RestartSec=2
# The gateway ends its database itself, last.
KillMode=mixed
# A stop leaves running turns in order, which takes up to 25 s.
TimeoutStopSec=${STOP_SECONDS}
`;
}

/** The `node` that is first in the path of the service. */
export const ENV_NODE = '/usr/bin/env node';

/** systemd replaces what follows a percent sign. */
function inUnit(text: string): string {
  return checked(text).replaceAll('%', '%%');
}

/** One word of a line that systemd divides at blanks. */
function quoted(text: string): string {
  const safe = inUnit(text);
  return /^[\w@%+=:,./-]+$/.test(safe) ? safe : `"${safe.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}

/** The launch agent for `~/Library/LaunchAgents`. `log` is the file of its output. Throws `GatewayError('usage')`. */
export function launchAgent({ folder, home, node }: ServicePlace, log: string): string {
  const words = [node, ...ARGUMENTS.split(' ')].map((word) => `      <string>${inXml(word)}</string>`);
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
  <dict>
    <key>Label</key>
    <string>org.parley.gateway</string>
    <key>WorkingDirectory</key>
    <string>${inXml(folder)}</string>
    <!-- Not npm: nothing stands between launchd and the gateway. -->
    <key>ProgramArguments</key>
    <array>
${words.join('\n')}
    </array>
    <!-- Tokens stand in GATEWAY_HOME/.env, mode 0600: this file can be read by others. -->
    <key>EnvironmentVariables</key>
    <dict>
      <key>NODE_ENV</key>
      <string>production</string>
      <key>GATEWAY_HOME</key>
      <string>${inXml(home)}</string>
    </dict>
    <key>RunAtLoad</key>
    <true/>
    <key>KeepAlive</key>
    <true/>
    <key>ThrottleInterval</key>
    <integer>10</integer>
    <!-- A stop leaves running turns in order, which takes up to 25 s. -->
    <key>ExitTimeOut</key>
    <integer>${STOP_SECONDS}</integer>
    <!-- 0077: what the gateway writes is for this user only. -->
    <key>Umask</key>
    <integer>63</integer>
    <key>StandardOutPath</key>
    <string>${inXml(log)}</string>
    <key>StandardErrorPath</key>
    <string>${inXml(log)}</string>
  </dict>
</plist>
`;
}

function inXml(text: string): string {
  const names: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
  return checked(text).replaceAll(/[&<>]/g, (char) => names[char] ?? char);
}

/** Throws for a control character, which would begin another line. */
function checked(text: string): string {
  if (!/\p{Cc}/u.test(text)) return text;
  throw new GatewayError('usage', `A service cannot have this path: ${JSON.stringify(text)}.`);
}
