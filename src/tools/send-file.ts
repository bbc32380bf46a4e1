/** The tool `send_file`: sends a file of the session's folder as a separate message. */
import { z } from 'zod';
import { ToolError } from '../protocol/errors.ts';
import { type FindChat, MAX_POST_CHARS, MAX_POSTS, type Post, SEND_FILE_TOOL } from '../protocol/delivery.ts';
import type { Attachment, OutgoingFiles } from '../protocol/media.ts';
import { textRef } from '../protocol/texts/say.ts';
import { defineTool, type Tool } from '../protocol/agent/tool.ts';
import { inMegabytes } from '../lib/text.ts';
import { chatOf, otherChat, notSent, refusal, whyNoChat } from './message.ts';

const parameters = z.strictObject({
  path: z.string().min(1).describe('File relative to the workspace.'),
  caption: z.string().trim().max(MAX_POST_CHARS).optional().describe('Text under it. Markdown.'),
  as: z
    .enum(['photo', 'document', 'voice'])
    .optional()
    .describe(
      'How it is shown; usually left out: a picture is shown as a photo, any other file as a document.',
    ),
  to: otherChat,
});

type Args = z.infer<typeof parameters>;

export function createSendFile(post: Post, findChat: FindChat, keepFile: OutgoingFiles['keep']): Tool {
  return defineTool({
    name: SEND_FILE_TOOL,
    description:
      'Send the user a file of the workspace, such as a picture, a table or a document that you have made. ' +
      `With the messages at most ${MAX_POSTS} in a turn. Your answer itself can show pictures: ![caption](path).`,
    parameters,
    effect: 'idempotent',
    risk: () => 'caution',
    results: 'operator',
    // As for `message`: the chat it was asked in sees it; others may read another address.
    reach: (args) => (args.to === undefined ? 'session' : 'outside'),
    files: ({ path }) => [path],
    lasting: ({ path }) => textRef('lasting.file', { name: path }),
    async execute({ path, caption = '', as, to }: Args, ctx) {
      if (ctx.agentId !== undefined) {
        throw new ToolError('unavailable', 'Subagents cannot send files; mention the file in your result.');
      }
      const chat = await chatOf(findChat, to, ctx);
      if (chat.kind !== 'found') return refusal(whyNoChat(chat, to ?? '', ctx));
      if (chat.session !== ctx.sessionKey)
        return refusal(
          `${chat.address} has its own conversation, and files stay with theirs. Send text there.`,
        );
      const { address } = chat;
      const file = shownAs(await keepFile(ctx.folder, path), as);
      const { callKey: ref, turnId, folder } = ctx;
      const result = await post({ ref, turnId, address, content: caption, file, folder });
      if (result.kind !== 'posted' && result.kind !== 'known') return notSent(result, address);
      if (result.kind === 'posted')
        ctx.emit({ type: 'message_sent', seq: result.seq, content: caption, attachments: [file] });
      return { content: `Sent ${file.name} (${inMegabytes(file.bytes)}).` };
    },
  });
}

/** The file as the call asks to show it. Throws `ToolError('wrong_kind')` for what cannot be shown that way. */
function shownAs(file: Attachment, as: Args['as']): Attachment {
  if (as === undefined) return file;
  if (as === 'document') return { ...file, kind: 'file' };
  if (as === 'photo') {
    if (file.kind === 'image') return file;
    throw new ToolError('wrong_kind', `${file.name} is not a picture: leave "as" out, or use "document".`);
  }
  if (/^audio\/(ogg|mpeg|mp4|x-m4a)\b/.test(file.mimeType)) return { ...file, kind: 'voice' };
  const text = `${file.name} is not audio that a voice message can be made from (OGG with Opus, MP3 or M4A): leave "as" out.`;
  throw new ToolError('wrong_kind', text);
}
