/** Linking chats: a code from one, entered in another, agreed to in both; and how a chat leaves. */
import type { ChatLinking, IntakeContext } from '../context.ts';
import type { Channel } from '../../protocol/channel.ts';
import type { CommandCall } from '../../protocol/command.ts';
import { ChannelError, GatewayError } from '../../protocol/errors.ts';
import { type Address, type Button, parseAddress, type SessionKey } from '../../protocol/message.ts';
import {
  type AgreedLink,
  type EnteredCode,
  type GivenCode,
  type LeftSurface,
  type OpenLink,
  sidesOf,
  type SurfaceEnd,
} from '../../protocol/sessions/surfaces.ts';
import { newId } from '../../lib/ids.ts';
import { createHash, randomInt } from 'node:crypto';
import { sayTo, tell } from './tell.ts';
import { explainToGuest, explainToHost, linkCommands, whereOf } from './surface-text.ts';
import { type Say, textRef } from '../../protocol/texts/say.ts';

/** Crockford's base 32: digits and letters that are not easily confused. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** Ten characters have 50 bits. */
const LENGTH = 10;

/** Who links a chat, and which. */
export interface Linking extends SurfaceEnd {
  owner: boolean;
  /** As the transport names them. */
  senderId: string;
}

/** The chat and the person of a command. */
export function linkingOf({ address, place, senderName, userId, owner, senderId }: CommandCall): Linking {
  const name = senderName === undefined ? {} : { name: senderName };
  return { address, place: place ?? 'group', ...name, userId, owner, senderId };
}

/** Returns a code. Throws `GatewayError('forbidden' | 'too_many_surfaces')`. */
export async function giveCode(context: IntakeContext, session: SessionKey, by: Linking): Promise<GivenCode> {
  await checkGroup(context, by);
  const code = newLinkCode();
  const issued = await context.store.surfaces.giveCode(hashLinkCode(code) ?? '', { ...endOf(by), session });
  if (issued === undefined) throw new GatewayError('too_many_surfaces', textRef('link.too_many'));
  context.log.info({ address: by.address, sessionKey: session, userId: by.userId }, 'link_code_given');
  const { channel } = parseAddress(by.address);
  return {
    code,
    commands: linkCommands(code, context.linking.networks, channel),
    expiresAt: issued.expiresAt,
  };
}

/** Enters a code: both chats are asked. Throws `GatewayError('forbidden')`. */
export async function enterCode(context: IntakeContext, typed: string, by: Linking): Promise<EnteredCode> {
  await checkGroup(context, by);
  const { address, userId } = by;
  // Text that cannot be a code counts as a wrong one.
  const entered = await context.store.surfaces.enterCode(hashLinkCode(typed) ?? 'none', endOf(by));
  if (entered.kind === 'limited')
    context.log.warn({ address, userId, reached: entered.reached }, 'link_guessing');
  if (entered.kind !== 'asked' || entered.again) return entered;
  const { link } = entered;
  context.log.info(
    { address, userId, sessionKey: link.session, from: link.from.address },
    'link_code_entered',
  );
  const ref = askRef(link.id);
  const { host, guest } = sidesOf(link);
  for (const [end, explain] of [
    [host, explainToHost],
    [guest, explainToGuest],
  ] as const) {
    const say = await sayTo(context, end);
    const content = `${explain(link, context.linking.labelOf, say)}\n\n${say('link.how')}`;
    await tell(context, end.address, { ref, content, buttons: buttonsOf(link, say) });
  }
  return entered;
}

/** Agrees for the side of this chat. Once both have agreed, all chats of the conversation are notified. */
export async function agreeToLink(
  context: IntakeContext,
  by: { address: Address; userId: string; owner: boolean; id?: string | undefined },
): Promise<AgreedLink> {
  const agreed = await context.store.surfaces.agree(by);
  if (agreed.kind !== 'joined') return agreed;
  const { link, session, surfaces } = agreed;
  context.log.info({ sessionKey: session, from: link.from.address, to: link.to.address }, 'surfaces_linked');
  context.events.emit(session, { type: 'surfaces_changed' });
  await settleAsked(context, link, 'link.joined');
  const where = whereOf(sidesOf(link).guest, context.linking.labelOf);
  for (const surface of surfaces) {
    const content = (await sayTo(context, surface))('link.has_joined', { where });
    await tell(context, surface.address, { ref: `link:${link.id}:joined`, content });
  }
  return agreed;
}

/** Ends the pending request in this chat; both sides are notified. Undefined when nothing is pending. */
export async function declineLink(
  context: IntakeContext,
  address: Address,
  id?: string,
): Promise<OpenLink | undefined> {
  const link = await context.store.surfaces.decline(address, id);
  if (link === undefined) return undefined;
  context.log.info(
    { sessionKey: link.session, from: link.from.address, to: link.to.address },
    'link_declined',
  );
  await settleAsked(context, link, 'link.declined');
  return link;
}

/**
 * Separates a chat. Of two, the conversation stays with its first chat, whoever leaves; of more, the leaving chat
 * starts a new one. A chat on the web keeps its own: the others leave. All are notified except the `asker`, which gets
 * an answer. Undefined if the chat shares no conversation.
 */
export async function separate(
  context: IntakeContext,
  address: Address,
  asker: Address = address,
): Promise<LeftSurface | undefined> {
  const surface = await context.store.surfaces.surface(address);
  if (surface === undefined) return undefined;
  const session = await context.ledger.sessionOf(address);
  const all = await context.store.surfaces.surfaces(session);
  const others = all.filter((surface) => surface.address !== address).map((surface) => surface.address);
  const keeps = session === address && (others.length === 1 || parseAddress(address).channel === 'http');
  let departure: LeftSurface | undefined;
  for (const leaving of keeps ? others : [address])
    departure = (await leaveAsked(context, leaving, asker)) ?? departure;
  return departure;
}

/** One chat leaves; all are notified except the one that requested it. */
async function leaveAsked(
  context: IntakeContext,
  leaving: Address,
  asker: Address,
): Promise<LeftSurface | undefined> {
  const departure = await context.store.surfaces.leave(leaving);
  if (departure === undefined) return undefined;
  context.log.info({ address: leaving, sessionKey: departure.session, why: 'asked' }, 'surface_left');
  context.events.emit(departure.session, { type: 'surfaces_changed' });
  const where = whereOf(departure.left, context.linking.labelOf);
  const ref = `surface-left:${newId()}`;
  for (const one of departure.others.filter((other) => other.address !== asker)) {
    const content = (await sayTo(context, one))('unlink.has_left', { where });
    await tell(context, one.address, { ref, content });
  }
  if (leaving !== asker)
    await tell(context, leaving, {
      ref,
      content: (await sayTo(context, departure.left))('unlink.continued'),
    });
  return departure;
}

/** In a group its owner decides: an owner of the gateway, or an administrator of the group. */
async function checkGroup(
  context: IntakeContext,
  { place, owner, address, senderId }: Linking,
): Promise<void> {
  if (place !== 'group' || owner) return;
  try {
    if (await context.linking.isGroupAdmin(address, senderId)) return;
  } catch (error) {
    if (!(error instanceof ChannelError)) throw error;
    context.log.warn({ err: error, address }, 'group_admin_unknown');
    throw new GatewayError('forbidden', textRef('link.admins_unknown'), { cause: error });
  }
  throw new GatewayError('forbidden', textRef('link.admins_only'));
}

function endOf({ address, place, name, userId }: Linking): SurfaceEnd {
  return { address, place, ...(name !== undefined && { name }), userId };
}

/** Updates the question in both chats, without its buttons once it is settled. */
async function settleAsked(
  context: IntakeContext,
  link: OpenLink,
  outcome: 'link.joined' | 'link.declined',
): Promise<void> {
  for (const [end, other] of [
    [link.from, link.to],
    [link.to, link.from],
  ] as const) {
    const content = (await sayTo(context, end))(outcome, { where: whereOf(other, context.linking.labelOf) });
    await tell(context, end.address, { ref: askRef(link.id), key: 'settled', content });
  }
}

/** The delivery of the question, without its chat. */
export function askRef(id: string): string {
  return `link:${id}:asked`;
}

function buttonsOf({ id }: OpenLink, say: Say): Button[] {
  return [
    { label: say('link.join'), value: `link:yes:${id}`, style: 'confirm' },
    { label: say('link.decline'), value: `link:no:${id}`, style: 'danger' },
  ];
}

/** Asks the channel of a group; a channel without groups has no administrators. */
export function groupAdminIn(channels: ReadonlyMap<string, Channel>): ChatLinking['isGroupAdmin'] {
  return async (address, senderId) => {
    const place = parseAddress(address);
    return (await channels.get(place.channel)?.isAdmin?.(place, senderId)) === true;
  };
}

/** A new code as people read it: `4T7QX-0M9KD`. */
export function newLinkCode(): string {
  const characters = Array.from({ length: LENGTH }, () => ALPHABET.charAt(randomInt(ALPHABET.length)));
  return `${characters.slice(0, LENGTH / 2).join('')}-${characters.slice(LENGTH / 2).join('')}`;
}

/**
 * The SHA-256 of a typed code, in hexadecimal, ignoring case, spaces and dashes, with letters that look like digits
 * read as digits. Undefined if it cannot be a code.
 */
export function hashLinkCode(typed: string): string | undefined {
  const code = typed.toUpperCase().replaceAll(/[\s-]/g, '').replaceAll(/[IL]/g, '1').replaceAll('O', '0');
  if (code.length !== LENGTH || !/^[0-9A-HJKMNP-TV-Z]+$/.test(code)) return undefined;
  return createHash('sha256').update(code).digest('hex');
}
