/** The channel of a plug-in under the contract of all channels: what its process does looks no different from outside. */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { createHostedChannel } from '../../src/plugins/channel.ts';
import type { HostedChannel } from '../../src/plugins/channel-receiving.ts';
import { channelManifestOf } from '../../src/plugins/channel-facts.ts';
import { readManifest } from '../../src/plugins/manifest.ts';
import { lengthIn } from '../../src/plugins/render.ts';
import { PluginProcess } from '../../src/plugins/plugin-process.ts';
import { redactor } from '../../src/ops/log.ts';
import { openEgressProxy } from '../../src/security/egress-proxy.ts';
import { silentLog } from '../database.ts';
import { channelContract } from '../contracts/channel.ts';
import { ACCEPTED, type ChannelHarness } from '../contracts/channel-harness.ts';
import { HarborServer, readMarks } from '../fakes/plugins/harbor-server.ts';

const FOLDER = fileURLToPath(new URL('../fakes/plugins/harbor', import.meta.url));
const KEY = 'the-key-of-the-harbor-0123456789';
const GROUP = 'g34';

async function makeHarness(): Promise<ChannelHarness> {
  const server = await HarborServer.start(KEY);
  const data = await mkdtemp(path.join(tmpdir(), 'parley-harbor-'));
  const manifest = readManifest(readFileSync(path.join(FOLDER, 'parley.plugin.json'), 'utf8'));
  const { ids, writeCommand } = channelManifestOf(manifest) ?? {};
  if (manifest.channel === undefined || ids === undefined) throw new Error('the plug-in has a channel');
  const stored = new Map<string, unknown>();
  let channel: HostedChannel | undefined;
  const process = new PluginProcess({
    manifest,
    folder: FOLDER,
    dataFolder: data,
    settings: { HARBOR_KEY: KEY, HARBOR_URL: server.url },
    environment: {},
    log: silentLog,
    redact: redactor({ secrets: [KEY], shapes: [] }),
    verify: () => Promise.resolve(),
    openProxy: openEgressProxy,
    async serve(method, [first, second]) {
      if (method === 'receive') return await channel?.receiveFrom(first);
      if (method === 'store.set') return void stored.set(String(first), second);
      return stored.get(String(first));
    },
    onHealth: (state, detail) => channel?.noteHealth(state, detail),
    onRestart: () => channel?.restarted(),
    timing: { restartMs: 10, mostRestartMs: 20 },
  });
  channel = createHostedChannel({
    name: 'harbor',
    facts: manifest.channel,
    ids,
    process,
    log: silentLog,
    receive: () => Promise.resolve(ACCEPTED),
  });
  server.admins.set(GROUP, ['u12']);
  const says: ChannelHarness['says'] = ({ chatId, senderId }, text) => server.says(chatId, senderId, text);
  return {
    channel,
    chats: [
      { chatId: 'u12', senderId: 'u12' },
      { chatId: 'u56', senderId: 'u56' },
    ],
    secret: KEY,
    says,
    types: says,
    ...(writeCommand && { writeCommand }),
    screen: (chatId) => server.screen(chatId),
    files: (chatId) => server.files(chatId),
    reads: (text) => ({ visible: readMarks(text), length: lengthIn('utf16', text) }),
    receiving: () => server.polls,
    acknowledged: () => server.allConfirmed,
    redelivers: () => server.again(),
    echoes: ({ chatId, senderId }, text, from) => server.says(chatId, senderId, text, { by: from }),
    sendsFile: ({ chatId, senderId }, name, bytes) => server.sendsFile(chatId, senderId, name, bytes),
    group: () => ({ chatId: GROUP, administrators: ['u12'], others: ['u56'] }),
    failsDownload: (failure) => void server.downloadFailures.push(failure),
    rateLimits: (ms) => server.answerNext({ status: 429, retryAfterS: ms / 1_000 }),
    blocks: (chatId) => void server.blocked.add(chatId),
    losesAnswer: () => server.answerNext({ status: 0 }),
    losesFileAnswer: () => server.answerNext({ status: 0 }, 'file'),
    fails: (status) => server.answerNext({ status }),
    refusesToken: () => server.answerNext({ status: 401 }),
    async close() {
      await process.close();
      await server.close();
      await rm(data, { recursive: true, force: true });
    },
  };
}

channelContract('harbor', makeHarness, {
  deletes: 'the contract of plug-ins does not report deleted messages',
});
