/**
 * The contract that every plug-in must keep, as `parley plugin check` and `add` try it: through the same host that runs it
 * later, without a platform. One verdict for each promise.
 */
import type { Root } from 'mdast';
import { parseMarkdown } from '../lib/markdown/markdown.ts';
import { GatewayError, toGatewayError } from '../protocol/errors.ts';
import type { Log } from '../protocol/log.ts';
import type { ConfiguredPlugin } from './configured.ts';
import { PluginError } from './plugin-frames.ts';
import { PluginProcess, PLUGIN_TIMING } from './plugin-process.ts';
import { createRender, lengthIn } from './render.ts';
import type { OpenProxy } from './spawn-plugin.ts';

/** What was tried, and whether it held. `skipped`: not without its settings. */
export interface Verdict {
  what: string;
  result: 'ok' | 'failed' | 'skipped';
  /** Why it did not hold, or was not tried. */
  detail?: string | undefined;
}

/** Methods that follow from the manifest, with the capability that promises each. */
const PROMISED = [
  ['edit', 'edit'],
  ['delete', 'delete'],
  ['answerButtons', 'removeButtons'],
  ['typingMs', 'typing'],
  ['maxFileBytes', 'sendFile'],
] as const;
/** Values for settings without one: no platform accepts them. */
const STANDIN = { text: 'not-a-real-value', number: 1, boolean: false, url: 'http://127.0.0.1:9' } as const;
/** Longest wait for one call of a check, in milliseconds. */
const CALL_MS = 10_000;

/** Markup that tries to break out, in every kind of block. */
const HOSTILE = [
  '# *bold* _it_ ~x~ `code` <b>&amp;</b> |pipe|',
  '> quote\n> with ```fence``` and [a](javascript:alert(1)) <https://example.org/a_(b)>',
  '```\n```inside``` *no*\n```\n\n- one\n  - [x] two\n\n| a | b |\n|---|---|\n| *c* | `d` |',
  '👩‍👩‍👧 \u202Eevil \u0000 \uD800 ***a*b**',
];

export interface CheckParts {
  plugin: ConfiguredPlugin;
  log: Log;
  redact: (text: string) => string;
  openProxy: OpenProxy;
  verify: () => Promise<void>;
}

/** Tries it; its process is gone when this resolves. Never throws. */
export async function checkPlugin(parts: CheckParts): Promise<Verdict[]> {
  const { manifest } = parts.plugin;
  const verdicts: Verdict[] = [{ what: `speaks version ${manifest.contract} of the contract`, result: 'ok' }];
  const attempt = async (what: string, work: () => unknown): Promise<boolean> => {
    try {
      await work();
      verdicts.push({ what, result: 'ok' });
      return true;
    } catch (error) {
      verdicts.push({ what, result: 'failed', detail: toGatewayError(error).message });
      return false;
    }
  };
  const { channel } = manifest;
  if (channel !== undefined)
    await attempt('renders hostile text within its length', () => checkRender(channel.render));
  if (manifest.main === undefined) return verdicts;
  const process = new PluginProcess({ ...parts, ...withStandins(parts.plugin), serve });
  let methods: readonly string[] = [];
  const hasStarted = await attempt('starts in its own process, with its rights', async () => {
    await process.start();
    methods = process.methods;
  });
  if (hasStarted) {
    await attempt('has every function that its manifest promises', () => checkMethods(parts.plugin, methods));
    if (manifest.tools !== undefined)
      await attempt('answers a tool call with bad input by an error', () => checkTools(process));
    if (channel !== undefined)
      await attempt('answers calls that fail by an error of the contract', () => checkSend(process));
    if (channel?.webhook === true)
      await attempt('refuses a request that its platform has not signed', () => checkWebhook(process));
    if (manifest.provider !== undefined)
      await attempt('answers for a server that is away by an error', () => checkProvider(process));
    if (channel !== undefined)
      await attempt('stops within 5 s, also if it never started', () =>
        process.call('channel.stop', [], { limitMs: 5_000 }),
      );
    verdicts.push(configuredOnly(parts.plugin));
  }
  await attempt(`ends within ${PLUGIN_TIMING.stopMs / 1_000} s when it is told to`, async () => {
    if ((await process.close()) === 'killed') throw new GatewayError('slow', 'it had to be killed');
  });
  return verdicts;
}

/** A check has no gateway behind it: what the plug-in asks of it is not there. */
async function serve(method: string): Promise<unknown> {
  if (method === 'store.get' || method === 'store.set') return await Promise.resolve(undefined);
  throw new GatewayError('unavailable', 'This is only a check.', { retryable: true });
}

function withStandins(plugin: ConfiguredPlugin): Pick<
  ConfiguredPlugin,
  'manifest' | 'folder' | 'dataFolder' | 'settings'
> & {
  environment: Record<string, never>;
} {
  const { manifest, folder, dataFolder, settings } = plugin;
  const missing = (manifest.settings ?? []).filter(
    ({ name, required }) => required === true && settings[name] === undefined,
  );
  const standins = Object.fromEntries(missing.map(({ name, type = 'text' }) => [name, STANDIN[type]]));
  return { manifest, folder, dataFolder, settings: { ...standins, ...settings }, environment: {} };
}

function configuredOnly({ missing }: ConfiguredPlugin): Verdict {
  const what = 'has its settings';
  if (missing.length === 0) return { what, result: 'ok' };
  return { what, result: 'skipped', detail: `without ${missing.join(', ')} it cannot reach its platform` };
}

function checkRender(rule: Parameters<typeof createRender>[0]): void {
  const render = createRender(rule);
  for (const text of HOSTILE) {
    const doc: Root = parseMarkdown(text.repeat(20));
    const { text: rendered, length } = render(doc);
    if (length !== lengthIn(rule.unit, rendered))
      throw new GatewayError('bad_length', 'the length is not that of the text');
    if (!rendered.isWellFormed()) throw new GatewayError('bad_text', 'half of a character is left');
  }
}

function checkMethods(
  { manifest: { channel, tools, provider } }: ConfiguredPlugin,
  methods: readonly string[],
): void {
  const required: string[] = [];
  if (channel !== undefined) {
    required.push('channel.start', 'channel.stop', 'channel.send');
    required.push(channel.webhook === true ? 'channel.webhook' : 'channel.identify');
    for (const [capability, method] of PROMISED)
      if (channel.capabilities[capability]) required.push(`channel.${method}`);
    if ((channel.capabilities.reactions?.length ?? 0) > 0) required.push('channel.react');
  }
  if (tools !== undefined) required.push(...tools.map(({ name }) => `tool.${name}`));
  if (provider !== undefined)
    required.push('provider.models', 'provider.capabilities', 'provider.streamChat');
  const missing = required.filter((method) => !methods.includes(method));
  if (missing.length > 0) throw new GatewayError('missing', `missing: ${missing.join(', ')}`);
}

/** Passes if the call fails in a way that the gateway understands; a process that dies or hangs does not. */
async function mustFail(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (error instanceof PluginError) return;
    throw error;
  }
  throw new GatewayError('no_error', 'it answered as if nothing were wrong');
}

async function checkTools(process: PluginProcess): Promise<void> {
  await mustFail(process.call('tool', ['no_such_tool', { '\u0000': [null] }, {}], { limitMs: CALL_MS }));
}

async function checkSend(process: PluginProcess): Promise<void> {
  const part = { chatId: '\u0000', body: { text: '', plain: '' }, plain: false, buttons: [], nonce: 'check' };
  await mustFail(process.call('channel.send', [part], { limitMs: CALL_MS }));
}

async function checkWebhook(process: PluginProcess): Promise<void> {
  const request = { method: 'POST', query: '', headers: {}, body: Buffer.from('{}').toString('base64') };
  const { status }: { status?: unknown } = Object(
    await process.call('channel.webhook', [request], { limitMs: CALL_MS }),
  );
  if (status !== 401 && status !== 403)
    throw new GatewayError('unsigned', `it answered ${String(status)} instead of 401`);
}

async function checkProvider(process: PluginProcess): Promise<void> {
  await mustFail(process.call('provider.models', [{ baseUrl: 'http://127.0.0.1:9' }], { limitMs: CALL_MS }));
}
