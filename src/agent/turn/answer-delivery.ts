/** What is delivered when a turn ends: its text, and the files that the text shows. */
import type { LiveTurn } from '../../protocol/delivery.ts';
import {
  type Address,
  type InboundMessage,
  type OutboundMessage,
  parseAddress,
  type Place,
} from '../../protocol/message.ts';
import type { OtherSurface, TurnFinish } from '../../protocol/store/records.ts';
import { languageMark, recipientOf } from '../../protocol/texts/languages.ts';
import type { Say } from '../../protocol/texts/say.ts';
import { type Citation, describePlace } from '../../protocol/knowledge.ts';
import { escapeMarkdown } from '../../lib/markdown/references.ts';
import { clipEnd, oneLine } from '../../lib/text.ts';
import type { AgentShared } from '../deps.ts';
import type { AnswerFiles } from '../../protocol/media.ts';
import type { DeliveryPayload } from '../../protocol/store/ledger.ts';
import type { OutputResult } from './silent-reply.ts';
import type { Turn } from './turn-state.ts';

type Elsewhere = NonNullable<TurnFinish['elsewhere']>;

/**
 * The answer with its files, which are kept as they are now, and below it the sources that it cites, for chats; `elsewhere` is the same for the other chats of the session,
 * without their places. Throws `StoreError`.
 */
export async function deliveryWithFiles(
  answerFiles: AnswerFiles,
  turn: Turn,
  { silent, isError, text }: OutputResult,
  citations: readonly Citation[],
) {
  if (silent) return { attachments: [] };
  const { turnId, folder, replyTo, userId, address } = turn;
  const about = { replyTo, ...(userId !== 'system' && { asked: true }), ...languageMark(turn.say) };
  if (isError) {
    const answer = { content: text, isError };
    const outbound = deliveryOf(turnId, address, { ...answer, ...about });
    return { attachments: [], outbound, elsewhere: elsewhereOf(answer) };
  }
  const { media, content: answerText } = await answerFiles(folder, text, turn.say);
  const content = withCitations(answerText, citations, turn.say);
  const files = media.length === 0 ? {} : { media: [...media], folder };
  const answer = { content, isError, ...files };
  return {
    attachments: media,
    outbound: deliveryOf(turnId, address, { ...answer, ...about }),
    elsewhere: elsewhereOf(answer),
  };
}

/** Longest title of a source below an answer, in UTF-16 units. */
const MAX_TITLE_CHARS = 120;

/** Numbers in the text are not links in chats: the list below it says what each is. */
function withCitations(text: string, citations: readonly Citation[], say: Say): string {
  if (citations.length === 0) return text;
  const lines = citations.map(({ number, title, place }) => {
    const where = describePlace(place, say);
    const name = clipEnd(oneLine(where === '' ? title : `${title}, ${where}`), MAX_TITLE_CHARS);
    return `- [k${number}] ${escapeMarkdown(name)}`;
  });
  return `${text}\n\n${say('knowledge.sources')}\n${lines.join('\n')}`;
}

/** The fields of an answer; none of a message is missing that delivery would need. */
type Answer = Partial<OutboundMessage> & { content: string };

/** An answer as the chats that did not ask read it: it replies to nothing there, and has no buttons. */
export function elsewhereOf(answer: Answer): Omit<OutboundMessage, keyof Place> {
  return { media: [], buttons: [], ...answer };
}

/** The delivery of an answer; undefined for `http`, where the stored message is the delivery. */
export function deliveryOf(turnId: string, address: Address, answer: Answer): DeliveryPayload | undefined {
  const place = parseAddress(address);
  if (place.channel === 'http') return undefined;
  return { ref: turnId, message: { media: [], buttons: [], ...place, ...answer, turnId } };
}

/** `group` where the answer is read in any group, wherever it was asked: private memories stay out of it. */
export function strictestPlace(
  place: OtherSurface['place'],
  surfaces: readonly OtherSurface[],
): OtherSurface['place'] {
  return surfaces.some(({ place }) => place === 'group') ? 'group' : place;
}

/**
 * What the other chats get when a turn ends: its answer, but not in groups that joined after its beginning, which do
 * not read it; and in a chat that has left in the meantime, a text that says so, in the language of the person who
 * brought it in. Throws only `StoreError`.
 */
export async function mirrorAnswer(
  { chats: { languages } }: AgentShared,
  surfaces: readonly OtherSurface[],
  message: Elsewhere['message'],
  shownOn: ReturnType<LiveTurn['shownOn']>,
): Promise<Elsewhere> {
  const texts = shownOn.map(async ({ address, userId }) => {
    const say = languages.say(recipientOf(address, await languages.languageOf(userId)));
    return { address, separated: `*(${say('unlink.in_the_middle')})*` };
  });
  const groups = surfaces.filter(({ place }) => place === 'group').map(({ address }) => address);
  return { message, groups, shownOn: await Promise.all(texts) };
}

/** The network on which a message was written; undefined in a conversation of one chat, where it goes without saying. */
export function networkOf(
  { environmentNote }: AgentShared,
  { channel }: InboundMessage,
  surfaces: readonly OtherSurface[],
): string | undefined {
  return surfaces.length === 0 ? undefined : (environmentNote.channelLabel(channel) ?? channel);
}
