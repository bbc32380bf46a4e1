/** The payload of an `in:` head, validated here once, and its message as the model reads it. */
import { z } from 'zod';
import { describeIssues } from '../tools/conform.ts';
import { personQuestion } from '../../protocol/agent/approvals.ts';
import { callerOptions } from '../../protocol/agent/provider.ts';
import { GatewayError } from '../../protocol/errors.ts';
import { mediaShape, type ReceivedFile } from '../../protocol/media.ts';
import type { TurnPayload } from '../../protocol/store/accept.ts';
import {
  authorOf,
  type InboundMessage,
  memoryOwnerOf,
  payerShape,
  type Quoted,
  sourcesOfMessage,
  storedQuote,
} from '../../protocol/message.ts';
import { MODES } from '../../protocol/agent/plan.ts';
import type { ObservedMessage } from '../../protocol/store/group-chats.ts';
import { describeSources, storedSources, taints } from '../../protocol/agent/risk.ts';
import { filesText, ownText, picturesOf } from './message-files.ts';
import { titleOf } from '../../protocol/sessions/marked-text.ts';
import { markText, markUntrusted } from '../prompt/marks.ts';
import type { TextOrigin } from './turn-rows.ts';

/** Longest text of what was said in the meantime, in UTF-16 units; the newest messages that fit are kept. */
export const MAX_OBSERVED_CHARS = 6_000;

const address = z.templateLiteral([z.string().min(1), ':', z.string().min(1)]);
const metadata = z.record(z.string(), z.string()).optional();

const message = z.object({
  id: z.string(),
  channel: z.string(),
  chatId: z.string(),
  threadId: z.string().optional(),
  senderId: z.string(),
  fromBot: z.boolean().optional(),
  senderName: z.string().optional(),
  language: z.string().optional(),
  endUser: z.string().optional(),
  payer: payerShape.optional(),
  content: z.string(),
  timestamp: z.number(),
  media: z.array(mediaShape),
  replyTo: z.string().optional(),
  messageId: z.string().optional(),
  joined: z.number().optional(),
  quoted: storedQuote.optional(),
  place: z.enum(['private', 'group']),
  onBehalfOf: z.string().optional(),
  forwarded: z.boolean().optional(),
  forwardedFrom: z.string().optional(),
  prompt: z.object({ server: z.string(), name: z.string() }).optional(),
  mentioned: z.boolean(),
  placeholder: z.object({ id: z.string(), metadata }).optional(),
  sessionKey: address.optional(),
  sources: storedSources.optional(),
  metadata,
});

const payload = z.object({
  turnId: z.string().min(1),
  address,
  message,
  entry: z.enum(['runStream', 'run', 'plan']),
  silentToken: z.string().min(1).optional(),
  model: z.string().optional(),
  profileId: z.string().optional(),
  usualModel: z.string().optional(),
  mode: z.enum(MODES).optional(),
  plan: z.object({ id: z.string().min(1), version: z.int().min(1), run: z.int().min(1) }).optional(),
  options: callerOptions.optional(),
  question: personQuestion.optional(),
  edited: z.int().optional(),
  isOwner: z.boolean().optional(),
});

/** The payload, or the error of one that cannot be read, now or later. */
export function readTurnPayload(value: unknown): TurnPayload | GatewayError {
  const read = payload.safeParse(value);
  if (read.success) return read.data;
  return new GatewayError('bad_payload', `A queued message cannot be read: ${describeIssues(read.error)}`);
}

/** A message as the model reads it, and whose text it is. */
export interface ReadMessage extends TextOrigin {
  content: string;
}

/**
 * The message as the model reads it, with its files, after what was said in its chat in the meantime. Text of others is
 * between marks, which each call makes again. `where` names the network in a conversation that several chats share.
 */
export function readMessage(
  message: InboundMessage,
  files: readonly ReceivedFile[] = [],
  observed: readonly ObservedMessage[] = [],
  where?: string,
): ReadMessage {
  const { quoted, media } = message;
  const body = message.channel === 'system' ? systemText(message) : textOf(message, files, where);
  const context = [
    ...(observed.length === 0 ? [] : [observedText(observed)]),
    ...(quoted === undefined
      ? []
      : [quotedText(quoted, message.place === 'group' ? senderOf(message) : 'the user')]),
  ];
  const pictures = picturesOf(files);
  return {
    content: [...context, body].join('\n'),
    ...((context.length > 0 || media.length > 0) && { typed: ownText(message, files) }),
    author: authorOf(message),
    ...(message.endUser !== undefined && { owner: memoryOwnerOf(message) }),
    sources: sourcesOfMessage(message),
    ...(pictures.length > 0 && { pictures }),
  };
}

function textOf(message: InboundMessage, files: readonly ReceivedFile[], where?: string): string {
  return [senderText(message, ownText(message, files), where), ...filesText(files)]
    .filter((line) => line !== '')
    .join('\n');
}

/** The sender's text; in a group, or where several chats share the conversation, with the sender's name, a forwarded one with its author's. */
function senderText(message: InboundMessage, text: string, where?: string): string {
  const { forwarded, forwardedFrom = 'someone else', place } = message;
  if (text === '') return '';
  const sender = senderOf(message);
  if (message.prompt !== undefined) {
    const { server, name } = message.prompt;
    const by = place === 'group' ? sender : 'The user';
    const source = `text of others, from the MCP server ${titleOf(server)}, the prompt ${titleOf(name)}`;
    return `${by} has chosen a prompt that an MCP server wrote. Help with what it is for.\n${markText(source, text)}`;
  }
  if (forwarded === true) {
    const by = place === 'group' ? sender : 'the user';
    return markUntrusted(`${titleOf(forwardedFrom)}; ${by} has forwarded it`, text);
  }
  if (where !== undefined) return markText(`${sender} writes on ${where}`, text);
  return place === 'group' ? markText(`${sender} writes`, text) : text;
}

/** The sender's name, fit for a title. */
function senderOf({ senderName, senderId }: InboundMessage): string {
  return titleOf(senderName ?? `user ${senderId}`);
}

/** The gateway's own first line, then the task or the report, which a model may have made from text of others. */
function systemText(message: InboundMessage): string {
  const sources = sourcesOfMessage(message).filter((source) => source !== 'group');
  const [first = '', ...rest] = message.content.split('\n');
  if (!taints(sources) || rest.length === 0) return message.content;
  const title = `written after text from ${describeSources(sources)} was read`;
  return `${first}\n${markText(title, rest.join('\n'))}`;
}

/**
 * The quote between marks that say whose words it contains. `quotedBy` is the sender's name in a group, else `the
 * user`.
 */
function quotedText({ text, by, author, media }: Quoted, quotedBy: string): string {
  const files = media.map(({ kind, name }) =>
    name === undefined ? `[attached ${kind}]` : markUntrusted(`the name of an attached file (${kind})`, name),
  );
  const content = [text, ...files].filter((line) => line !== '').join('\n');
  if (by === 'bot') return markText(`an earlier message of yours, which ${quotedBy} replies to`, content);
  if (by === 'sender') return markText(`an earlier message of ${quotedBy}, quoted again`, content);
  return markUntrusted(`${titleOf(author ?? 'someone else')}; quoted by ${quotedBy}`, content);
}

/** Every character that some reader takes for the end of a line. */
const LINE_ENDS = /\r\n|[\n\v\f\r\u0085\u2028\u2029]/g;

/** What was said in the chat since the last answer without naming the bot: a message begins each line that is not indented. */
export function observedText(observed: readonly ObservedMessage[]): string {
  const lines: string[] = [];
  let room = MAX_OBSERVED_CHARS;
  for (const { senderName, content } of observed.toReversed()) {
    // Further lines are indented: none of them can pass for another member's.
    const line = `${titleOf(senderName)}: ${content.replaceAll(LINE_ENDS, '\n  ')}`;
    room -= line.length + 1;
    if (room < 0) break;
    lines.unshift(line);
  }
  const missing = observed.length - lines.length;
  const more = missing === 0 ? [] : [`[… ${missing} earlier messages left out …]`];
  return markUntrusted(
    'the members of this chat; they said it in the meantime, not to you',
    [...more, ...lines].join('\n'),
  );
}
