/** WhatsApp through Meta's Cloud API: webhooks come in, calls of the Graph API go out. */
import * as z from 'zod';
import type {
  PluginChannel,
  PluginChannelHost,
  PluginFinding,
  PluginMedia,
} from '../../src/protocol/plugin.ts';
import { GraphFailure } from './failures.ts';
import { Graph } from './graph.ts';
import { Backlog } from './backlog.ts';
import { Outcomes, put } from './outcomes.ts';
import { Sending } from './sending.ts';
import { Webhook } from './webhook.ts';

/** Longest text that is remembered for replies to it, in UTF-16 units. */
const MAX_QUOTE = 500;
/** Ids of files are digits; anything else is no part of an address. */
const MEDIA_ID = /^\d{1,40}$/;

const Media = z.object({ url: z.url() });
const Profile = z.object({
  display_phone_number: z.string().catch(''),
  verified_name: z.string().catch(''),
  quality_rating: z.string().catch(''),
});

const Settings = z.object({
  WHATSAPP_TOKEN: z.string(),
  WHATSAPP_PHONE_ID: z.coerce.string(),
  WHATSAPP_APP_SECRET: z.string(),
  WHATSAPP_VERIFY_TOKEN: z.string(),
  WHATSAPP_TEMPLATE: z.string().optional(),
  WHATSAPP_API_ROOT: z.string().transform((root) => root.replace(/\/+$/, '')),
  readReceipts: z.boolean(),
  listLabel: z.string(),
});

export function channel(host: PluginChannelHost): PluginChannel {
  const settings = Settings.parse(host.settings);
  const phoneId = settings.WHATSAPP_PHONE_ID;
  const graph = new Graph({ root: settings.WHATSAPP_API_ROOT, token: settings.WHATSAPP_TOKEN });
  const texts = new Map<string, string>();
  const remember = (id: string, text: string): void => put(texts, id, text.slice(0, MAX_QUOTE));
  const outcomes = new Outcomes(host.store);
  const template = settings.WHATSAPP_TEMPLATE;
  const backlog = new Backlog({ graph, phoneId, store: host.store, template, now: Date.now });
  const shared = { graph, phoneId, host, outcomes, backlog, remember };
  const sending = new Sending({ ...shared, listLabel: settings.listLabel });
  const webhook = new Webhook({
    ...shared,
    appSecret: settings.WHATSAPP_APP_SECRET,
    verifyToken: settings.WHATSAPP_VERIFY_TOKEN,
    readReceipts: settings.readReceipts,
    textOf: (id) => texts.get(id),
  });
  return {
    async start() {
      // Webhooks come without a connection, and another node may be able to send: a refusal ends no start.
      const failure = await profileOf(graph, phoneId).then(
        () => undefined,
        (error: unknown) => error,
      );
      if (failure instanceof GraphFailure) host.health(stateOf(failure), failure.message);
      else host.health('up');
    },
    stop: () => Promise.resolve(),
    send: async (part) => await reporting(host, sending.send(part)),
    sendFile: async (file) => await reporting(host, sending.sendFile(file)),
    download: async (media, signal) => await download(graph, phoneId, media, signal),
    typing: async ({ chatId }) => await webhook.typing(chatId),
    webhook: async (request) => await webhook.answer(request),
    check: async (signal) => await check(graph, phoneId, template, signal),
  };
}

function stateOf({ code }: GraphFailure): 'dead' | 'degraded' {
  return code === 'unauthorized' || code === 'rejected' ? 'dead' : 'degraded';
}

/** What a call says about the connection. */
async function reporting<T>(host: PluginChannelHost, call: Promise<T>): Promise<T> {
  try {
    const value = await call;
    host.health('up');
    return value;
  } catch (error) {
    if (error instanceof GraphFailure && /^(unauthorized|unavailable)$/.test(error.code))
      host.health(stateOf(error), error.message);
    throw error;
  }
}

async function download(
  graph: Graph,
  phoneId: string,
  { url: id }: PluginMedia,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  const lostFile = new GraphFailure('rejected', 'WhatsApp no longer has this file. Please send it again.');
  if (!MEDIA_ID.test(id)) throw lostFile;
  try {
    // Each address is good for five minutes.
    const path = `${id}?phone_number_id=${phoneId}`;
    const { url } = Media.parse(await graph.call({ method: 'GET', path, signal }));
    return await graph.download(url, signal);
  } catch (error) {
    const isGone = error instanceof GraphFailure && (error.graphCode === 100 || error.graphCode === 404);
    throw isGone ? lostFile : error;
  }
}

async function profileOf(
  graph: Graph,
  phoneId: string,
  signal?: AbortSignal,
): Promise<z.infer<typeof Profile>> {
  const path = `${phoneId}?fields=display_phone_number,verified_name,quality_rating`;
  return Profile.parse(await graph.call({ method: 'GET', path, signal }));
}

async function check(
  graph: Graph,
  phoneId: string,
  template: string | undefined,
  signal: AbortSignal,
): Promise<PluginFinding[]> {
  const subject = 'WhatsApp';
  try {
    const profile = await profileOf(graph, phoneId, signal);
    const owner = `The token may use the number ${profile.display_phone_number} (${profile.verified_name}).`;
    const findings: PluginFinding[] = [{ subject, level: 'ok', text: owner }];
    if (profile.quality_rating === 'RED')
      findings.push({
        subject,
        level: 'warning',
        text: 'The quality of the number is low: Meta may limit it.',
        remedy: 'see the WhatsApp Manager',
      });
    if (template === undefined)
      findings.push({
        subject,
        level: 'warning',
        text: 'Nobody gets anything once 24 hours have passed since they last wrote.',
        remedy: 'set WHATSAPP_TEMPLATE to the name of an approved template (docs/whatsapp.md)',
      });
    return findings;
  } catch (error) {
    const text = error instanceof GraphFailure ? error.message : 'WhatsApp gave an answer that is none.';
    return [{ subject, level: 'error', text, remedy: 'see docs/whatsapp.md' }];
  }
}
