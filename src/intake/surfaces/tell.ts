/** Messages of the gateway to the chats of a session: each once, through the lane of its chat. */
import type { EventBus, LaneRunner } from '../../protocol/bus.ts';
import { type Address, type Button, parseAddress } from '../../protocol/message.ts';
import type { Ledger } from '../../protocol/store/ledger.ts';
import type { SurfaceEnd } from '../../protocol/sessions/surfaces.ts';
import { type PersonLanguages, recipientOf } from '../../protocol/texts/languages.ts';
import type { Say } from '../../protocol/texts/say.ts';

export interface TellDeps {
  ledger: Pick<Ledger, 'enqueue' | 'sessionOf'>;
  bus: LaneRunner;
  events: Pick<EventBus, 'emit'>;
  languages: Pick<PersonLanguages, 'say' | 'languageOf'>;
}

/** Words texts for a chat in the language of its person. Throws only `StoreError`. */
export async function sayTo(
  { languages }: Pick<TellDeps, 'languages'>,
  { userId, address }: Pick<SurfaceEnd, 'userId' | 'address'>,
): Promise<Say> {
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
  { ledger, bus, events }: TellDeps,
  address: Address,
  { ref, key, content, buttons = [] }: ChatNotice,
): Promise<void> {
  const place = parseAddress(address);
  if (place.channel === 'http') {
    events.emit(await ledger.sessionOf(address), { type: 'notice', code: 'surfaces', text: content });
    return;
  }
  const own = `${ref}@${address}`;
  const again = key === undefined ? {} : { key: `${own}:${key}` };
  const delivery = { ref: own, ...again, message: { ...place, content, media: [], buttons } };
  bus.runHeads(await ledger.enqueue(address, delivery, bus.claimingNode('out')));
}
