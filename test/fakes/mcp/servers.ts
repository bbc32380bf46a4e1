/** Settings of servers for tests: the scripted one as a program, and real ones. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished, vi } from 'vitest';
import { createLogins, createMcp, type Mcp, type McpOptions } from '../../../src/mcp/index.ts';
import { configureMcpServers, mcpRule, type McpServerSettings } from '../../../src/mcp/settings.ts';
import { createServiceFetch } from '../../../src/security/index.ts';
import { watchFolders, writeWhole } from '../../../src/settings/index.ts';
import { testLog } from '../agent/tool-context.ts';
import { FakeSettings } from '../settings.ts';

/** How a test waits. */
export const WAIT = { timeout: 15_000, interval: 20 };

const SCRIPT = fileURLToPath(new URL('./scripted-server.ts', import.meta.url));

/** The scripted server in the form of `mcp.servers.<name>`, with these tools. */
export function scripted(tools: readonly string[], env: Record<string, string> = {}) {
  return { command: process.execPath, args: [SCRIPT], env: { FAKE_TOOLS: tools.join(','), ...env } };
}

/** A file for FAKE_LOG, and the lines in it; removed by `cleanup`, by default at the end of the test. */
export function seenBy(cleanup: (end: () => void) => void = onTestFinished): {
  file: string;
  lines(): string[];
} {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'parley-mcp-'));
  cleanup(() => rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'seen');
  return {
    file,
    lines: () => (existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []),
  };
}

export interface OpenMcp extends Mcp {
  /** Makes these the servers, like an edit of config.json. */
  change(servers: Record<string, unknown>): Promise<void>;
  /** Lines of the log. */
  logged: string[];
  folder: string;
}

/** Creates a client of these servers that is closed after the test; not started. */
export function openMcp(servers: Record<string, unknown>, over: Partial<McpOptions> = {}): OpenMcp {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'parley-mcp-'));
  const settings = new FakeSettings(configured(servers));
  const logged: string[] = [];
  const environment = { PATH: process.env['PATH'], HOME: folder, GATEWAY_TOKEN: 'a-token-of-the-gateway' };
  const service = createServiceFetch();
  const log = testLog(logged);
  const save = async (): Promise<void> => undefined;
  const keepFile: McpOptions['keepFile'] = async ({ kind, base64 }) => {
    const bytes = Buffer.from(base64, 'base64').length;
    const attachment = { kind, name: kind, mimeType: 'a/b', bytes, sha256: '', file: `inbox/tools/${kind}` };
    return { attachment, ...(kind === 'image' && { picture: `folder/${kind}` }) };
  };
  const logins = createLogins(path.join(folder, '.logins'), writeWhole);
  const watch: McpOptions['watch'] = (changed) => watchFolders(changed, log);
  const own = { settings, version: '0', environment, folder, service, logins, watch, keepFile, log, save };
  const mcp = createMcp({ ...own, ...over });
  onTestFinished(async () => {
    await mcp.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const change = (next: Record<string, unknown>) => settings.change(configured(next));
  return { ...mcp, logged, folder, change };
}

function configured(servers: Record<string, unknown>): McpServerSettings[] {
  const { servers: settings, errors } = configureMcpServers(mcpRule.parse({ servers }), process.env);
  if (errors.length > 0) throw new Error(errors.join('\n'));
  return settings;
}

/** Starts the client and waits until every server is up. */
export async function startMcp(
  servers: Record<string, unknown>,
  over: Partial<McpOptions> = {},
): Promise<OpenMcp> {
  const mcp = openMcp(servers, over);
  mcp.start();
  await allUp(mcp);
  return mcp;
}

/** Waits until every server is up. */
export async function allUp(mcp: Mcp): Promise<void> {
  await vi.waitFor(() => {
    const status = mcp.status();
    if (status.length === 0 || status.some(({ state }) => state !== 'up'))
      throw new Error(JSON.stringify(status));
  }, WAIT);
}
