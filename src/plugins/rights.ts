/** The rights of a plug-in with its settings filled in, and in words. */
import { GatewayError } from '../protocol/errors.ts';
import type { PluginManifest } from '../protocol/plugin.ts';
import { DEFAULT_MEMORY_MB } from './manifest.ts';

/** A host that a plug-in may connect to. */
export interface AllowedHost {
  /** Lower-case; `*.example.org` is every name below it. */
  host: string;
  port: number;
  /** Its address may be a private one: the operator has written it in a setting. */
  isPrivate: boolean;
}

/** Values of settings that have one. */
export type PluginSettings = Readonly<Record<string, string | number | boolean>>;

const HTTPS = 443;
const PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'ws:': 80, 'https:': HTTPS, 'wss:': HTTPS };

/** The hosts; a rule whose settings have no value allows nothing. Throws `GatewayError('bad_plugin')` for a value that is no host. */
export function allowedHosts({ rights }: PluginManifest, settings: PluginSettings): AllowedHost[] {
  return (rights?.network ?? []).flatMap((rule) => {
    const [, whole] = /^\{(\w+)\}$/.exec(rule) ?? [];
    if (whole !== undefined)
      return settings[whole] === undefined ? [] : [hostIn(whole, String(settings[whole]))];
    let isFilled = true;
    const filled = rule.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
      isFilled &&= settings[name] !== undefined;
      return String(settings[name] ?? '');
    });
    if (!isFilled) return [];
    const [host = '', port] = splitPort(filled);
    return [{ host: host.toLowerCase(), port: Number(port ?? HTTPS), isPrivate: filled !== rule }];
  });
}

function splitPort(text: string): string[] {
  return /^(.*):(\d{1,5})$/.exec(text)?.slice(1) ?? [text];
}

/** A host, `host:port` or URL. */
function hostIn(name: string, value: string): AllowedHost {
  const isUrl = /^[a-z]+:\/\//i.test(value);
  const url = URL.parse(isUrl ? value : `https://${value}`);
  if (url === null || url.hostname === '')
    throw new GatewayError(
      'bad_plugin',
      `${name} must be a host, host:port or a URL: the plug-in connects to it.`,
    );
  const port = url.port === '' ? (PORTS[url.protocol] ?? HTTPS) : Number(url.port);
  return { host: url.hostname.replaceAll(/^\[|\]$/g, ''), port, isPrivate: true };
}

/** A model server of its kind, by the address in `config.json`. Throws `GatewayError('bad_plugin')`. */
export function hostOfServer(baseUrl: string): AllowedHost {
  return hostIn('baseUrl', baseUrl);
}

/** The ports on loopback. */
export function allowedPorts({ rights }: PluginManifest, settings: PluginSettings): number[] {
  return (rights?.listen ?? []).flatMap((rule) => {
    const value = typeof rule === 'number' ? rule : settings[rule.slice(1, -1)];
    const port = Number(value);
    return Number.isInteger(port) && port > 0 && port < 65_536 ? [port] : [];
  });
}

/** All rights, one line each, for whoever agrees to them. */
export function rightsInWords({ rights = {}, settings = [] }: PluginManifest): string[] {
  const { network = [], listen = [], environment = [], files, runtime = [], memory } = rights;
  const secrets = settings.filter(({ secret }) => secret === true).map(({ name }) => name);
  const lines: [string, readonly (string | number)[]][] = [
    ['connect to', network.map((rule) => rule.replaceAll(/\{(\w+)\}/g, 'the host in $1'))],
    ['listen on 127.0.0.1, port', listen],
    ['read the settings', settings.map(({ name }) => (secrets.includes(name) ? `${name} (secret)` : name))],
    ['read the variables', environment],
    ['read in its own folder', files?.read ?? []],
    ['write in its own folder', files?.write ?? []],
    ['use, which Node.js forbids otherwise:', runtime],
  ];
  return [
    ...lines.filter(([, what]) => what.length > 0).map(([verb, what]) => `${verb} ${what.join(', ')}`),
    `use ${memory ?? DEFAULT_MEMORY_MB} MiB of memory`,
  ];
}

/** What a wider version of a plug-in asks for that the one before did not; empty if its rights have not grown. */
export function newRights(previous: PluginManifest, next: PluginManifest): string[] {
  const old = new Set(rightsInWords(previous));
  return rightsInWords(next).filter((line) => !old.has(line));
}
