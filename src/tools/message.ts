/** The tool `message`: a message to the chat before the answer is done, or when the turn only does work (B-23). */
import { z } from 'zod';
import { ToolError } from '../protocol/errors.ts';
import {
  type FindChat,
  type FoundChat,
  MAX_POST_CHARS,
  MAX_POSTS,
  MESSAGE_TOOL,
  type Post,
  type PostResult,
} from '../protocol/delivery.ts';
import { withSlash } from '../protocol/isomorphic/fill-text.js';
import { textRef } from '../protocol/texts/say.ts';
import { defineTool, type Tool, type ToolCaller, type ToolContext } from '../protocol/agent/tool.ts';
import { inMegabytes } from '../lib/text.ts';

/** Where a message or file of a turn goes, when not to the chat of the turn. */
export const otherChat = z
  .string()
  .trim()
  .min(1)
  .max(300)
  .optional()
  .describe(
    'Another chat of the same person: the name of a network, or an address of this conversation. Usually left out.',
  );

const anyChat = otherChat.describe(
  'Another chat of the same person: the name of a network, or an address of this conversation. ' +
    "An owner may name any chat: a person's or a group's name, or its address. Usually left out.",
);

const parameters = z.strictObject({
  text: z.string().trim().min(1).max(MAX_POST_CHARS).describe('Markdown.'),
  to: anyChat,
});

export function createMessage(post: Post, findChat: FindChat): Tool {
  return defineTool({
    name: MESSAGE_TOOL,
    description:
      'Send the user a message now, before your answer: that something long has begun, a first result, a warning. ' +
      `At most ${MAX_POSTS} in a turn. Your answer itself is sent anyway: do not send it twice.`,
    parameters,
    effect: 'idempotent',
    risk: () => 'caution',
    results: 'operator',
    // The chat it was asked in sees it; others may read another address.
    reach: (args) => (args.to === undefined ? 'session' : 'outside'),
    lasting: ({ to }) =>
      to === undefined ? textRef('lasting.message_here') : textRef('lasting.message', { to }),
    async target({ to }, caller) {
      const chat = await chatOf(findChat, to, caller, true);
      if (chat.kind !== 'found' || chat.other === undefined) return undefined;
      return { address: chat.address, label: chat.other.label };
    },
    async execute({ text, to }: z.infer<typeof parameters>, ctx) {
      if (ctx.agentId !== undefined) {
        throw new ToolError(
          'unavailable',
          'Subagents cannot write to people; return the text as your result.',
        );
      }
      const { callKey: ref, turnId, sessionKey } = ctx;
      const chat = await chatOf(findChat, to, ctx, true);
      if (chat.kind !== 'found') return refusal(whyNoChat(chat, to ?? '', ctx));
      const session = chat.session === sessionKey ? {} : { session: chat.session };
      const result = await post({ ref, turnId, address: chat.address, ...session, content: text });
      // Anyone who watches this session sees what is said in it.
      if (result.kind === 'posted' && chat.session === sessionKey)
        ctx.emit({ type: 'message_sent', seq: result.seq, content: text });
      if (result.kind !== 'posted' && result.kind !== 'known') return notSent(result, chat.address);
      return { content: to === undefined ? 'Sent.' : `Sent to ${chat.address}.` };
    },
  });
}

/** The chat that a call means: that of the turn unless it names another; if `anyone`, an owner may name those of others. */
export async function chatOf(
  findChat: FindChat,
  to: string | undefined,
  { sessionKey: session, address, userId, userRole, place = 'group' }: ToolCaller,
  anyone = false,
): Promise<FoundChat> {
  const others = anyone && userRole === 'owner' ? place : undefined;
  return to === undefined
    ? { kind: 'found', address, session }
    : await findChat({ to, session, address, userId, others });
}

/** Why nothing goes to the chat that a call has named. */
export function whyNoChat(
  chat: Exclude<FoundChat, { kind: 'found' }>,
  to: string,
  { command = withSlash }: Pick<ToolContext, 'command'> = {},
): string {
  switch (chat.kind) {
    case 'none':
      return `there is no chat of this person on "${to}"; there ${chat.others.length === 1 ? 'is' : 'are'} ${chat.others.join(', ')}. They can link one with ${command('link')}.`;
    case 'several':
      return `this person has several chats there: name one of ${chat.addresses.join(', ')}.`;
    case 'foreign':
      return `${to} is not a chat of this conversation or of this person. Leave it out to write here.`;
    case 'unknown':
      return `no one called "${to}" has written to this bot.${listed(chat.known, ' It knows')} Ask the user for a name or an address.`;
    case 'ambiguous':
      return chat.known === undefined
        ? `several chats are called "${to}", and others read here: ask for it in a private chat, or give the address.`
        : `several chats are called "${to}".${listed(chat.known, ' Give the address of one:')}`;
    case 'closed':
      return `the person behind "${to}" may no longer use this bot.`;
    default:
      return chat satisfies never;
  }
}

function listed(names: readonly string[] | undefined, opening: string): string {
  return names === undefined || names.length === 0 ? '' : `${opening} ${names.join('; ')}.`;
}

/** What the model reads of a message or file that was not sent to the address `to`. */
export function notSent(
  result: Exclude<PostResult, { kind: 'posted' | 'known' }>,
  to: string,
): { content: string; isError: true } {
  switch (result.kind) {
    case 'full':
      return refusal(
        `a turn sends at most ${result.limit} messages and files. Put the rest into your answer.`,
      );
    case 'foreign':
      return refusal(`${to} no longer belongs to this conversation. Leave it out to write here.`);
    case 'no_files':
      return refusal('this chat does not accept files. Put what matters into your answer.');
    case 'too_large':
      return refusal(`the file is too large: this chat accepts at most ${inMegabytes(result.limit)}.`);
    default:
      return result satisfies never;
  }
}

/** Nothing was sent, and why. */
export function refusal(reason: string): { content: string; isError: true } {
  return { content: `Not sent: ${reason}`, isError: true };
}
