/** The capabilities that most networks have: a channel states its limits, and where it differs. */
import type { Capabilities } from '../channel.ts';
import type { InboundMessage } from '../message.ts';

/** What a channel states: its longest message and its rates always, anything else where it differs. */
export type StatedCapabilities = Pick<Capabilities, 'maxLength' | 'rates'> &
  Partial<Omit<Capabilities, 'typing' | 'media' | 'reactions'>> & {
    /** The chats in which questions get reactions that show their state; default: none. */
    reactsIn?: Readonly<Record<InboundMessage['place'], boolean>>;
  };

/**
 * The capabilities of a channel. Unless it states otherwise, its messages can be edited and deleted and have buttons,
 * its chats have threads, answers grow by edits, and there are no drafts. It sends files and shows typing if it states
 * `maxFileBytes` and `typingMs`; a caption may be as long as a message.
 */
export function usualCapabilities({ reactsIn, ...stated }: StatedCapabilities): Capabilities {
  const { maxLength, maxFileBytes = 0, typingMs = 0 } = stated;
  return {
    edit: true,
    delete: true,
    draft: undefined,
    stream: 'edit',
    typing: typingMs > 0,
    reactions: (['private', 'group'] as const).filter((place) => reactsIn?.[place] === true),
    buttons: true,
    media: maxFileBytes > 0,
    maxCaption: maxFileBytes > 0 ? maxLength : 0,
    threads: true,
    ...stated,
    maxFileBytes,
    typingMs,
  };
}
