/** Text of others that comes before a message: what it quotes, and what was said in its chat in the meantime. */
import type { Quoted } from '../../contracts/quoted.ts';
import type { ObservedMessage } from '../../contracts/store/group-chats.ts';
import { titleOf } from '../../contracts/sessions/marked-text.ts';
import { markText, markUntrusted } from '../prompt/marks.ts';

/**
 * The quote between marks that say whose words it contains. `quotedBy` is the sender's name in a group, else `the
 * user`.
 */
export function quotedText({ text, by, author, media }: Quoted, quotedBy: string): string {
  const files = media.map(({ kind, name }) =>
    name === undefined ? `[attached ${kind}]` : markUntrusted(`the name of an attached file (${kind})`, name),
  );
  const content = [text, ...files].filter((line) => line !== '').join('\n');
  if (by === 'bot') return markText(`an earlier message of yours, which ${quotedBy} replies to`, content);
  if (by === 'sender') return markText(`an earlier message of ${quotedBy}, quoted again`, content);
  return markUntrusted(`${titleOf(author ?? 'someone else')}; quoted by ${quotedBy}`, content);
}

/** Longest text of what was said in the meantime, in UTF-16 units; the newest messages that fit are kept. */
export const MAX_OBSERVED_CHARS = 6_000;

/** What was said in the chat since the last answer without naming the bot: one line for each message. */
export function observedText(observed: readonly ObservedMessage[]): string {
  const lines: string[] = [];
  let left = MAX_OBSERVED_CHARS;
  for (const { senderName, content } of observed.toReversed()) {
    const line = `${titleOf(senderName)}: ${content}`;
    left -= line.length + 1;
    if (left < 0) break;
    lines.unshift(line);
  }
  const missing = observed.length - lines.length;
  const more = missing === 0 ? [] : [`[… ${missing} earlier messages left out …]`];
  return markUntrusted(
    'the members of this chat; they said it in the meantime, not to you',
    [...more, ...lines].join('\n'),
  );
}
