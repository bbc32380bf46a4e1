/** The channel of a plug-in: every call goes to its process, everything that comes back is checked. */
import { randomUUID } from 'node:crypto';
import { copyFile, type FileHandle, rm } from 'node:fs/promises';
import path from 'node:path';
import type { z } from 'zod';
import { backoffMs } from '../lib/async/backoff.ts';
import { openPlainFile } from '../lib/walk-folder.ts';
import { ChannelError, channelUnavailable, GatewayError } from '../protocol/errors.ts';
import type { ChannelIds } from '../protocol/access.ts';
import type { Channel, Finding, OutboundFile, OutboundPart } from '../protocol/channel.ts';
import type { ChannelHealth } from '../protocol/gateway-api.ts';
import type { Log } from '../protocol/log.ts';
import type { Place, SentMessage } from '../protocol/message.ts';
import type { PlatformAnswer, PlatformRequest, Receive } from '../protocol/receive.ts';
import type { PluginChannelFacts, PluginFile, PluginPart, PluginPlace } from '../protocol/plugin.ts';
import { toChannelError } from './channel-errors.ts';
import { capabilitiesOf } from './channel-facts.ts';
import {
  earlierShape,
  findingsShape,
  identityShape,
  readEarlier,
  readMessage,
  sentShape,
  webhookAnswerShape,
} from './channel-shapes.ts';
import { MAX_PLUGIN_FILE_BYTES } from './manifest.ts';
import { PluginError } from './plugin-frames.ts';
import type { CallOptions, PluginProcess } from './plugin-process.ts';
import { createRender } from './render.ts';

/** How long a file may take, in milliseconds. */
const FILE_MS = 180_000;
/** How long it may take to stop receiving. */
const STOP_MS = 5_000;
/** Pauses before it is asked again to receive, after it could not. */
const [RETRY_MS, MOST_RETRY_MS] = [1_000, 60_000];
const STATES = ['starting', 'up', 'degraded', 'dead'] as const;

export interface HostedChannelParts {
  name: string;
  facts: PluginChannelFacts;
  ids: ChannelIds;
  process: PluginProcess;
  log: Log;
  /** Takes messages before `start`, for webhooks: any node may get them. */
  receive: Receive;
}

/** What a running process tells its channel. */
export interface HostedChannel extends Channel {
  /** Passes on a message of the plug-in. Throws `GatewayError`. */
  receiveFrom(value: unknown): Promise<{ kind: string; reply?: string | undefined }>;
  noteHealth(state: string, detail: string | undefined): void;
  /** Its process has started again. */
  restarted(): void;
}

/** Makes it; the process starts with the first call. */
export function createHostedChannel(parts: HostedChannelParts): HostedChannel {
  const { name, facts, ids, process, log } = parts;
  const { capabilities: can } = facts;
  let receiving: Receive | undefined;
  let reported: ChannelHealth = { state: 'starting' };
  let retry: NodeJS.Timeout | undefined;

  const call = async (method: string, args: readonly unknown[], options?: CallOptions): Promise<unknown> => {
    try {
      return await process.call(`channel.${method}`, args, options);
    } catch (error) {
      throw toChannelError(error, method.startsWith('send'));
    }
  };
  const sent = async (
    method: string,
    args: readonly unknown[],
    options?: CallOptions,
  ): Promise<SentMessage> => {
    const { data } = sentShape.safeParse(await call(method, args, options));
    if (data !== undefined) return data;
    throw new ChannelError(
      'outcome_unknown',
      `${method} of the plug-in did not answer with the id of a message.`,
      { retryable: true },
    );
  };
  /** Receives again after its process had ended, however often that takes. */
  const resume = (attempt: number): void => {
    clearTimeout(retry);
    if (receiving === undefined) return;
    call('start', []).catch((error: unknown) => retryAfter(error, attempt));
  };
  const retryAfter = (error: unknown, attempt: number): void => {
    log.warn({ err: error }, 'plugin_start_failed');
    if (process.state().state === 'refused') return;
    retry = setTimeout(() => resume(attempt + 1), backoffMs(attempt, RETRY_MS, MOST_RETRY_MS));
  };

  return {
    name,
    capabilities: capabilitiesOf(facts),
    render: createRender(facts.render),
    health: () => healthOf(process, reported, receiving !== undefined),
    noteHealth(state, detail) {
      const stated = STATES.find((one) => one === state) ?? 'degraded';
      reported = { state: stated, ...(stated !== 'up' && detail !== undefined && { detail }) };
    },
    restarted: () => resume(0),
    async receiveFrom(value) {
      const { kind, ...more } = await (receiving ?? parts.receive)(readMessage(name, ids, value));
      return { kind, ...('reply' in more && { reply: more.reply }) };
    },
    ...(facts.webhook !== true && {
      identify: async (signal: AbortSignal) =>
        checked(identityShape, await call('identify', [], { signal }), 'identify'),
    }),
    async start(receive) {
      receiving = receive;
      process.isNeeded = true;
      try {
        await call('start', []);
      } catch (error) {
        // Whoever elects a node for it tries again; one that every node starts must not keep the gateway from its start.
        if (facts.webhook !== true) throw error;
        retryAfter(error, 0);
      }
    },
    async stop() {
      clearTimeout(retry);
      process.isNeeded = false;
      if (receiving === undefined) return;
      receiving = undefined;
      reported = { state: 'starting' };
      if (process.state().state !== 'up') return;
      // It is as good as stopped: nothing that it receives is taken any more.
      await call('stop', [], { limitMs: STOP_MS }).catch((error: unknown) =>
        log.warn({ err: error }, 'plugin_stop_failed'),
      );
    },
    send: (part) => sent('send', [partOf(part)]),
    ...(can.edit === true && {
      edit: (message: SentMessage, part: OutboundPart) => sent('edit', [message, partOf(part)]),
    }),
    ...(can.delete === true && {
      delete: async (message: SentMessage, place: Place) =>
        void (await call('delete', [message, placeOf(place)])),
    }),
    ...(can.answerButtons === true && {
      removeButtons: async (message: SentMessage, place: Place) =>
        void (await call('removeButtons', [message, placeOf(place)])),
    }),
    ...(can.typingMs !== undefined && {
      typing: async (place: Place) => void (await call('typing', [placeOf(place)])),
    }),
    ...((can.reactions?.length ?? 0) > 0 && {
      react: async (question: Place & { messageId: string }, state: string) =>
        void (await call('react', [{ ...placeOf(question), messageId: question.messageId }, state])),
    }),
    ...(can.maxFileBytes !== undefined && {
      sendFile: (file: OutboundFile) =>
        withCopy(process, file, (copy) => sent('sendFile', [copy], { limitMs: FILE_MS })),
    }),
    download: (media, signal) =>
      downloaded(process, signal, (file) => call('download', [media, file], { signal, limitMs: FILE_MS })),
    ...(hasGroups(facts) && {
      isAdmin: async (place: Place, senderId: string) =>
        (await unlessMissing(call('isAdmin', [placeOf(place), senderId]))) === true,
    }),
    async before(place, messageId, limit) {
      const earlier = await unlessMissing(call('before', [placeOf(place), messageId, limit]));
      return readEarlier(checked(earlierShape, earlier ?? [], 'before'), limit);
    },
    ...(facts.webhook === true && {
      answerRequest: (request: PlatformRequest) => answerRequest(call, log, request),
    }),
  };
}

/** Where every chat has the id of a person, there are no others. */
function hasGroups({ ids }: PluginChannelFacts): boolean {
  return ids.chatIsUser !== true || ids.chat !== ids.user;
}

/** What a method gave, in the shape of the contract. Throws `ChannelError('unavailable')`. */
function checked<T>(shape: z.ZodType<T>, value: unknown, method: string): T {
  const { data, error } = shape.safeParse(value);
  if (data !== undefined) return data;
  throw channelUnavailable(
    `${method} of the plug-in answered with something else than the contract says.`,
    error,
  );
}

/** What the plug-in finds about its platform; nothing if it does not look. Throws `GatewayError`. */
export async function findingsOf(asking: Promise<unknown>): Promise<Finding[]> {
  const found = await unlessMissing(
    asking.catch((error: unknown) => {
      throw toChannelError(error, false);
    }),
  );
  return checked(findingsShape, found ?? [], 'check');
}

/** What its process does counts before what the plug-in last said. */
function healthOf(process: PluginProcess, reported: ChannelHealth, isReceiving: boolean): ChannelHealth {
  const { state, detail } = process.state();
  if (state === 'refused') return { state: 'dead', ...(detail !== undefined && { detail }) };
  if (state === 'waiting') return { state: 'degraded', ...(detail !== undefined && { detail }) };
  return isReceiving ? reported : { state: 'starting' };
}

async function answerRequest(
  call: (method: string, args: readonly unknown[]) => Promise<unknown>,
  log: Log,
  { body, ...request }: PlatformRequest,
): Promise<PlatformAnswer> {
  try {
    const answer = await call('webhook', [{ ...request, body: body.toString('base64') }]);
    return webhookAnswerShape.parse(answer);
  } catch (error) {
    log.warn({ err: error }, 'plugin_webhook_failed');
    // The platform posts it again later.
    return { status: 503, headers: { 'retry-after': '30' }, body: '' };
  }
}

/** What an optional method gives; undefined where the plug-in does not have it. */
async function unlessMissing(work: Promise<unknown>): Promise<unknown> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof ChannelError && error.cause instanceof PluginError && error.cause.code === 'missing')
      return undefined;
    throw error;
  }
}

function placeOf({ chatId, threadId }: Place): PluginPlace {
  return { chatId, threadId };
}

function partOf(part: OutboundPart): PluginPart {
  const { body, plain = false, replyTo, buttons, nonce } = part;
  return {
    ...placeOf(part),
    body: { text: body.text, plain: body.plain },
    plain,
    replyTo,
    buttons: buttons.map(({ label, value, style }) => ({ label, value, style })),
    nonce,
  };
}

/** The plug-in reads a copy, which exists for this call only. */
async function withCopy<T>(
  process: PluginProcess,
  file: OutboundFile,
  use: (copy: PluginFile) => Promise<T>,
): Promise<T> {
  const copy = await placeFor(process);
  try {
    await copyFile(file.path, copy).catch((cause: unknown) => {
      throw new ChannelError('rejected', `The file ${file.name} cannot be read.`, { cause });
    });
    const { kind, name, mimeType, bytes, caption, replyTo, nonce } = file;
    const text = caption && { text: caption.text, plain: caption.plain };
    return await use({
      ...placeOf(file),
      kind,
      name,
      mimeType,
      bytes,
      path: copy,
      caption: text,
      replyTo,
      nonce,
    });
  } finally {
    await rm(copy, { force: true });
  }
}

/** The plug-in writes a file, which is read once and then gone. */
async function downloaded(
  process: PluginProcess,
  signal: AbortSignal,
  fetch: (file: string) => Promise<unknown>,
): Promise<AsyncIterable<Uint8Array>> {
  const file = await placeFor(process);
  try {
    await fetch(file);
    const handle = await openPlainFile(file);
    const stats = await handle?.stat();
    if (handle === undefined || stats === undefined)
      throw new ChannelError('rejected', 'The plug-in has not fetched this file.');
    if (stats.size > MAX_PLUGIN_FILE_BYTES) {
      await handle.close();
      throw new GatewayError(
        'too_large',
        `A file of a plug-in may have ${MAX_PLUGIN_FILE_BYTES / 1024 / 1024} MiB.`,
      );
    }
    return chunksOf(handle, signal);
  } finally {
    // What is open can still be read.
    await rm(file, { force: true });
  }
}

async function* chunksOf(handle: FileHandle, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  await using _ = handle;
  for await (const chunk of handle.createReadStream({ autoClose: false })) {
    if (signal.aborted) throw channelUnavailable('The file is no longer read.', signal.reason);
    yield chunk;
  }
}

/** A path in the folder that the gateway shares with the process. Throws `ChannelError('unavailable')`. */
async function placeFor(process: PluginProcess): Promise<string> {
  try {
    await process.start();
  } catch (error) {
    throw toChannelError(error, false);
  }
  return path.join(process.files ?? '', randomUUID());
}
