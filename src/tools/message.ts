/** The tool `message`: words for the chat before the answer is done, or where it is nothing but work (B-23). */
import { z } from 'zod';
import { ToolError } from '../contracts/errors.ts';
import { parseAddress } from '../contracts/message.ts';
import { MAX_POST_CHARS, MAX_POSTS, MESSAGE_TOOL } from '../contracts/delivery.ts';
import type { Post, PostResult } from '../contracts/delivery.ts';
import { defineTool } from '../contracts/tool.ts';
import type { Tool } from '../contracts/tool.ts';
import { inMegabytes } from '../lib/text.ts';

/** Where a message or file of a turn goes, when not to the chat of the turn. */
export const postAddress = z
  .templateLiteral([z.string().min(1), ':', z.string().min(1)])
  .optional()
  .describe('Another address of this same conversation; usually left out.');

const parameters = z.strictObject({
  text: z.string().trim().min(1).max(MAX_POST_CHARS).describe('Markdown.'),
  address: postAddress,
});

export function createMessage(post: Post): Tool {
  return defineTool({
    name: MESSAGE_TOOL,
    description:
      'Send the user a message now, before your answer: that something long has begun, a first result, a warning. ' +
      `At most ${MAX_POSTS} in a turn. Your answer itself is sent anyway: do not send it twice.`,
    parameters,
    effect: 'idempotent',
    risk: () => 'caution',
    results: 'operator',
    // The chat it was asked in hears it; another address may be read by others.
    reach: (args) => (args.address === undefined ? 'session' : 'outside'),
    async execute({ text, address: asked }: z.infer<typeof parameters>, ctx) {
      if (ctx.agentId !== undefined) {
        throw new ToolError('unavailable', 'A subagent speaks to nobody: give the text as your result.');
      }
      const to = asked ?? ctx.address;
      parseAddress(to);
      const result = await post({ ref: ctx.callKey, turnId: ctx.turnId, address: to, content: text });
      if (result.kind === 'posted') ctx.emit({ type: 'message_sent', seq: result.seq, content: text });
      return result.kind === 'posted' || result.kind === 'known' ? { content: 'Sent.' } : notSent(result, to);
    },
  });
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
      return refusal(`${to} is not an address of this conversation. Leave the address out to write here.`);
    case 'no_files':
      return refusal('this chat takes no files. Put what matters into your answer.');
    case 'too_large':
      return refusal(`the file is too large: this chat takes at most ${inMegabytes(result.limit)}.`);
    default:
      return result satisfies never;
  }
}

function refusal(why: string): { content: string; isError: true } {
  return { content: `Not sent: ${why}`, isError: true };
}
