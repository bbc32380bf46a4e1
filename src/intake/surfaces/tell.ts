/** Messages of the gateway to the chats of a session: each once, through the lane of its chat. */
import { deliver } from '../replies.ts';
import type { EventBus, MessageBus } from '../../protocol/bus.ts';
import {
  type Address,
  addressOf,
  type Button,
  type InboundMessage,
  parseAddress,
} from '../../protocol/message.ts';
import type { Ledger } from '../../protocol/store/ledger.ts';
import type { DropSurface, SurfaceEnd, SurfaceStore } from '../../protocol/sessions/surfaces.ts';
import { type PersonLanguages, recipientOf } from '../../protocol/texts/languages.ts';
import type { Say } from '../../protocol/texts/say.ts';
import type { MirrorQuestion } from '../../protocol/delivery.ts';
import { escapeMarkdown } from '../../lib/markdown/references.ts';
import { clipEnd, oneLine } from '../../lib/text.ts';
import { type LabelOf, networkOf, plainName, whereOf } from './surface-text.ts';
import type { Log } from '../../protocol/log.ts';
import { newId } from '../../lib/ids.ts';

/** Where messages to chats go: to their lanes, or among the events of a session on the web. */
export interface ChatWriter {
  ledger: Ledger;
  bus: MessageBus;
  events: EventBus;
  languages: PersonLanguages;
}

/** Words texts for a chat in the language of its person. Throws only `StoreError`. */
export async function sayTo({ languages }: ChatWriter, { userId, address }: SurfaceEnd): Promise<Say> {
  return languages.say(recipientOf(address, await languages.languageOf(userId)));
}

/** A message to a chat; `ref` makes a repeat the same message. */
export interface ChatNotice {
  ref: string;
  /** Set when it rewrites what was sent under `ref` before. */
  key?: string;
  content: string;
  buttons?: Button[];
}

/** Notifies one chat: as a message, over HTTP as a notice among the events of its session. Throws only `StoreError`. */
export async function tell(
  chats: ChatWriter,
  address: Address,
  { ref, key, content, buttons = [] }: ChatNotice,
): Promise<void> {
  const place = parseAddress(address);
  if (place.channel === 'http') {
    const session = await chats.ledger.sessionOf(address);
    chats.events.emit(session, { type: 'notice', code: 'surfaces', text: content });
    return;
  }
  const chatRef = `${ref}@${address}`;
  const message = { ...place, content, media: [], buttons };
  await deliver(chats, address, { ref: chatRef, ...(key && { key: `${chatRef}:${key}` }), message });
}

/** Longest part of a question that is repeated, in UTF-16 units. */
const MAX_REPEATED = 300;

/** Makes `MirrorQuestion`. The lane of each chat keeps it before the answer, and its key makes a repeat a no-op. */
export function createMirrorQuestion(chats: ChatWriter, labelOf: LabelOf): MirrorQuestion {
  return async ({ turnId, surfaces, message }) => {
    // No one asked for what a schedule or a subagent started.
    if (message.channel === 'system') return;
    const content = lineOf(message, labelOf, chats.languages.say(message));
    await Promise.all(
      surfaces.map(async ({ address }) => {
        const place = parseAddress(address);
        if (place.channel === 'http') return;
        const line = { ...place, content, media: [], buttons: [] };
        await deliver(chats, address, { ref: `${turnId}:asked@${address}`, message: line });
      }),
    );
  };
}

/** `**Ada on Telegram:** the question`, its markup as text. */
function lineOf(message: InboundMessage, labelOf: LabelOf, say: Say): string {
  const name = plainName(message.senderName ?? '');
  const network = networkOf(addressOf(message), labelOf);
  const text = escapeMarkdown(clipEnd(oneLine(message.content), MAX_REPEATED));
  const values = { name: name === '' ? say('surfaces.somebody') : name, network, text };
  const count = message.media.length;
  return count === 0 ? say('surfaces.asked', values) : say('surfaces.asked_files', { ...values, count });
}

/** Makes `DropSurface`. */
export function createDropSurface(
  surfaces: SurfaceStore,
  chats: ChatWriter,
  labelOf: LabelOf,
  log: Log,
): DropSurface {
  return async (address) => {
    const departure = await surfaces.leave(address);
    if (departure === undefined) return false;
    log.info({ address, sessionKey: departure.session, why: 'blocked' }, 'surface_left');
    chats.events.emit(departure.session, { type: 'surfaces_changed' });
    const where = whereOf(departure.left, labelOf);
    const ref = `surface-left:${newId()}`;
    for (const other of departure.others) {
      const say = await sayTo(chats, other);
      await tell(chats, other.address, { ref, content: say('unlink.unreachable', { where }) });
    }
    return true;
  };
}
