/** The files of a completion without a session, as the model gets them: pictures, and texts between marks. */
import type { Caller } from '../../protocol/access.ts';
import type { StatelessMessage } from '../../protocol/gateway-api.ts';
import type { ReadInline } from '../../protocol/media.ts';
import type { ChatMessage } from '../../protocol/agent/provider.ts';
import { markUntrusted } from '../prompt/marks.ts';

/**
 * The messages with their files read; those without any pass as they are. Throws `GatewayError`: `file_too_large`,
 * `unreadable_file`.
 */
export async function withFilesRead(
  messages: readonly StatelessMessage[],
  readInline: ReadInline,
  { tokenId }: Caller,
  signal: AbortSignal,
): Promise<ChatMessage[]> {
  const read: ChatMessage[] = [];
  for (const { files = [], ...message } of messages) {
    if (message.role !== 'user' || files.length === 0) {
      read.push(message);
      continue;
    }
    // One after another: each is held in memory while it is read.
    const texts = [message.content];
    const images = [];
    for (const file of files) {
      const { name, picture, text, spoken } = await readInline(file, `token:${tokenId}`, signal);
      if (picture !== undefined) images.push(picture);
      // A part of the message, as the words that are typed next to it.
      if (spoken !== undefined) texts.push(spoken);
      if (text !== undefined) texts.push(markUntrusted(`an attached file, ${name}`, text));
    }
    const content = texts.filter((text) => text !== '').join('\n\n');
    read.push({ role: 'user', content, ...(images.length > 0 && { images }) });
  }
  return read;
}

/** True when one of the messages shows pictures. */
export function showsPictures(messages: readonly ChatMessage[]): boolean {
  return messages.some((message) => message.role === 'user' && message.images !== undefined);
}
