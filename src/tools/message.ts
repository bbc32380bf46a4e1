/** The tool `message`: words for the chat before the answer is done, or where it is nothing but work (B-23). */
import { z } from 'zod';
import { ToolError } from '../contracts/errors.ts';
import { parseAddress } from '../contracts/message.ts';
import { MAX_POST_CHARS, MAX_POSTS, MESSAGE_TOOL } from '../contracts/delivery.ts';
import type { Post } from '../contracts/delivery.ts';
import { defineTool } from '../contracts/tool.ts';
import type { Tool } from '../contracts/tool.ts';

const address = z.templateLiteral([z.string().min(1), ':', z.string().min(1)]);

const parameters = z.strictObject({
  text: z.string().trim().min(1).max(MAX_POST_CHARS).describe('Markdown.'),
  address: address.optional().describe('Another address of this same conversation; usually left out.'),
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
      switch (result.kind) {
        case 'posted':
          ctx.emit({ type: 'message_sent', seq: result.seq, content: text });
          return { content: 'Sent.' };
        case 'known':
          return { content: 'Sent.' };
        case 'full':
          return {
            content: `Not sent: a turn sends at most ${result.limit} messages. Put the rest into your answer.`,
            isError: true,
          };
        case 'foreign':
          return {
            content: `Not sent: ${to} is not an address of this conversation. Leave the address out to write here.`,
            isError: true,
          };
        default:
          return result satisfies never;
      }
    },
  });
}
