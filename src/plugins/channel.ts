/** The channel of a plug-in: every call goes to its process, everything that comes back is checked. */
import type { z } from 'zod';
import { ChannelError, channelUnavailable } from '../protocol/errors.ts';
import type { Channel, Finding, OutboundPart } from '../protocol/channel.ts';
import type { Log } from '../protocol/log.ts';
import type { Place, SentMessage } from '../protocol/message.ts';
import type { PlatformAnswer, PlatformRequest } from '../protocol/receive.ts';
import type { PluginChannelFacts, PluginPart } from '../protocol/plugin.ts';
import { toChannelError } from './channel-errors.ts';
import { capabilitiesOf } from './channel-facts.ts';
import { downloaded, placeOf, withCopy } from './channel-files.ts';
import {
  type CallChannel,
  createReceiving,
  type HostedChannel,
  type HostedChannelParts,
} from './channel-receiving.ts';
import {
  earlierShape,
  findingsShape,
  identityShape,
  readEarlier,
  sentShape,
  webhookAnswerShape,
} from './channel-shapes.ts';
import { PluginError } from './plugin-frames.ts';
import type { CallOptions, PluginProcess } from './plugin-process.ts';
import { createRender } from './render.ts';

/** How long a file may take, in milliseconds. */
const FILE_MS = 180_000;

/** Makes it; the process starts with the first call. */
export function createHostedChannel(parts: HostedChannelParts): HostedChannel {
  const { name, facts, process, log } = parts;
  const calls = createCalls(process);
  const { call } = calls;
  return {
    name,
    capabilities: capabilitiesOf(facts),
    render: createRender(facts.render),
    ...createReceiving(parts, call),
    ...(facts.webhook !== true && {
      identify: async (signal: AbortSignal) =>
        checked(identityShape, await call('identify', [], { signal }), 'identify'),
    }),
    send: (part) => calls.send('send', [partOf(part)]),
    ...promisedMethods(facts.capabilities, calls, process),
    download: (media, signal) =>
      downloaded(process, signal, (file) => call('download', [media, file], { signal, limitMs: FILE_MS })),
    ...(hasGroups(facts) && {
      isAdmin: async (place: Place, senderId: string) =>
        (await unlessMissing(call('isAdmin', [placeOf(place), senderId]))) === true,
    }),
    async before(place, messageId, limit) {
      const messages = await unlessMissing(call('before', [placeOf(place), messageId, limit]));
      return readEarlier(checked(earlierShape, messages ?? [], 'before'), limit);
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

interface ChannelCalls {
  call: CallChannel;
  /** The same for one whose answer is the id of a message. */
  send: (method: string, args: readonly unknown[], options?: CallOptions) => Promise<SentMessage>;
}

function createCalls(process: PluginProcess): ChannelCalls {
  const call: CallChannel = async (method, args, options) => {
    try {
      return await process.call(`channel.${method}`, args, options);
    } catch (error) {
      throw toChannelError(error, method.startsWith('send'));
    }
  };
  return {
    call,
    async send(method, args, options) {
      const { data } = sentShape.safeParse(await call(method, args, options));
      if (data !== undefined) return data;
      const text = `${method} of the plug-in did not answer with the id of a message.`;
      throw new ChannelError('outcome_unknown', text, { retryable: true });
    },
  };
}

/** The methods that follow from its capabilities. */
function promisedMethods(
  can: PluginChannelFacts['capabilities'],
  { call, send }: ChannelCalls,
  process: PluginProcess,
): Partial<Channel> {
  return {
    ...(can.edit === true && { edit: (message, part) => send('edit', [message, partOf(part)]) }),
    ...(can.delete === true && {
      delete: async (message, place) => void (await call('delete', [message, placeOf(place)])),
    }),
    ...(can.answerButtons === true && {
      removeButtons: async (message, place) => void (await call('removeButtons', [message, placeOf(place)])),
    }),
    ...(can.typingMs !== undefined && {
      typing: async (place) => void (await call('typing', [placeOf(place)])),
    }),
    ...((can.reactions?.length ?? 0) > 0 && {
      react: async (question, state) =>
        void (await call('react', [{ ...placeOf(question), messageId: question.messageId }, state])),
    }),
    ...(can.maxFileBytes !== undefined && {
      sendFile: (file) => withCopy(process, file, (copy) => send('sendFile', [copy], { limitMs: FILE_MS })),
    }),
  } satisfies Partial<Channel>;
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
export async function findingsOf(answer: Promise<unknown>): Promise<Finding[]> {
  const findings = await unlessMissing(
    answer.catch((error: unknown) => {
      throw toChannelError(error, false);
    }),
  );
  return checked(findingsShape, findings ?? [], 'check');
}

async function answerRequest(
  call: CallChannel,
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
