/**
 * The facts on which approvals are decided: a tool call's effect, risk and reach, and the sources of text that the
 * session's person did not write. Sources are stored with each session and each row made from such text, and travel
 * with it: into answers, plans, todos, notes, memories, schedules and subagents.
 */
import { z } from 'zod';
import { inEnglish, type Say } from '../texts/say.ts';

/**
 * What repeating a call does. After a crash an open `pure` call runs again, an `idempotent` one with the same key, an
 * `unsafe` one not: model and user see "outcome unknown".
 */
export type ToolEffect = 'pure' | 'idempotent' | 'unsafe';

export type ToolRisk = 'safe' | 'caution' | 'dangerous';

/**
 * Source of text that is not the user's own: public pages (`web`); files and their names, programs' output, memories
 * and other agents (`local`, perhaps private or written by others); members of a group (`group`); authors of forwarded
 * (`forwarded`) and quoted messages (`quoted`); people whom the model has asked (`person`); programs that call a webhook (`hook`); MCP servers by name
 * (`mcp:notes`), perhaps private, too.
 */
export type TextSource = 'web' | 'local' | 'group' | 'forwarded' | 'quoted' | 'person' | 'hook' | McpSource;

/** The text of one MCP server: results, resources, prompts, and what it says about its tools. */
export type McpSource = `mcp:${string}`;

/**
 * Where a call has effects: in its session; at one web address; at a service of the operator, which gets this query; or
 * anywhere (other chats, programs, schedules, instructions for later sessions).
 */
export type Reach = 'session' | 'outside' | { address: string } | { query: string };

/**
 * Source of a tool result's text; `operator` = trusted: the gateway's or the operator's. `verified` = trusted and
 * private: facts that the person confirmed.
 */
export type ResultSource = TextSource | 'operator' | 'verified';

/** Most page hosts, and MCP servers, in a set of sources, which has at most 24 members; then `OTHER_HOSTS` and so on. */
export const MAX_SOURCE_HOSTS = 8;
/** Longest host that is named, in UTF-16 units. */
const MAX_HOST_CHARS = 100;
/** Stands for every host beyond `MAX_SOURCE_HOSTS`. */
export const OTHER_HOSTS = 'web:*';
/** Stands for every MCP server beyond `MAX_SOURCE_HOSTS`. */
export const OTHER_SERVERS = 'mcp:*';

/** A kind of text, a page's host (`web:example.org`), or `verified`: facts that the person confirmed, private. */
export type Source = TextSource | 'verified' | `web:${string}`;

/** The sources of text of which it is not known what was read before it was written: the worst is assumed. */
export const UNKNOWN_SOURCES: readonly Source[] = ['local'];

/** For parsing sources that were stored. */
export const storedSources = z.array(
  z.union([
    z.enum(['web', 'local', 'group', 'forwarded', 'quoted', 'person', 'hook', 'verified']),
    z.templateLiteral(['web:', z.string()]),
    z.templateLiteral(['mcp:', z.string()]),
  ]),
);

/** True when one of the sources is untrusted: text of others. */
export function taints(sources: readonly Source[]): boolean {
  return sources.some((source) => source !== 'verified');
}

/** True when one of the sources may be private: files, output of programs, memories, other agents, webhooks, MCP servers. */
export function isPrivate(sources: readonly Source[]): boolean {
  return sources.some(
    (source) => source === 'local' || source === 'hook' || source === 'verified' || source.startsWith('mcp:'),
  );
}

/** The source of a page; `web` when the address names no host. Never throws. */
export function pageSource(address: string): Source {
  const host = URL.parse(address)?.hostname ?? '';
  return host === '' || host.length > MAX_HOST_CHARS ? 'web' : `web:${host}`;
}

/** The union of two sets, with at most `MAX_SOURCE_HOSTS` hosts and as many MCP servers; `knownSources` itself when nothing is new. */
export function mergeSources(knownSources: readonly Source[], more: readonly Source[]): readonly Source[] {
  let merged = knownSources;
  for (const source of more) {
    const entry = merged.includes(source) ? source : withinBound(merged, source);
    if (!merged.includes(entry)) merged = [...merged, entry];
  }
  return merged;
}

function withinBound(knownSources: readonly Source[], source: Source): Source {
  for (const [isNamed, others] of [[isHost, OTHER_HOSTS] as const, [isServer, OTHER_SERVERS] as const]) {
    if (isNamed(source) && knownSources.filter(isNamed).length >= MAX_SOURCE_HOSTS) return others;
  }
  return source;
}

function isHost(source: Source): boolean {
  return source.startsWith('web:') && source !== OTHER_HOSTS;
}

function isServer(source: Source): boolean {
  return source.startsWith('mcp:') && source !== OTHER_SERVERS;
}

/** The sources of text of others, for people: `web pages (example.org and others) and this group`; empty when there are none. */
export function describeSources(sources: readonly Source[], say: Say = inEnglish): string {
  const hosts = sources.filter(isHost).map((source) => source.slice('web:'.length));
  const moreHosts = sources.includes('web') || sources.includes(OTHER_HOSTS);
  const servers = sources.filter(isServer).map((source) => source.slice('mcp:'.length));
  const values = { hosts: hosts.join(', '), servers: servers.join(', ') };
  const names = [
    ...(hosts.length > 0 ? [say(moreHosts ? 'sources.hosts_more' : 'sources.hosts', values)] : []),
    ...(hosts.length === 0 && moreHosts ? [say('sources.pages')] : []),
    ...PLAIN_SOURCES.filter((source) => sources.includes(source)).map((source) => say(`sources.${source}`)),
    ...(servers.length > 0
      ? [say(sources.includes(OTHER_SERVERS) ? 'sources.servers_more' : 'sources.servers', values)]
      : []),
  ];
  return names.join(say('sources.and'));
}

const PLAIN_SOURCES = ['local', 'group', 'forwarded', 'quoted', 'person', 'hook'] as const;
