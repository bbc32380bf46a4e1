/** Linking chats: a code from one, entered in another, agreed to in both; and how a chat leaves. */
import type { Channel } from '../../protocol/channel.ts';
import type { CommandCall } from '../../protocol/command.ts';
import { ChannelError, GatewayError } from '../../protocol/errors.ts';
import type { Log } from '../../protocol/log.ts';
import { type Address, type Button, parseAddress, type SessionKey } from '../../protocol/message.ts';
import {
  type AgreedLink,
  type EnteredCode,
  type GivenCode,
  type LeftSurface,
  type OpenLink,
  sidesOf,
  type SurfaceEnd,
  type SurfaceStore,
} from '../../protocol/sessions/surfaces.ts';
import { newId } from '../../lib/ids.ts';
import { hashLinkCode, newLinkCode } from './code.ts';
import { sayTo, tell, type TellDeps } from './tell.ts';
import { linkCommands, type LinkNetwork } from './link-commands.ts';
import { explainToGuest, explainToHost, type LabelOf, whereOf } from './surface-text.ts';
import { type Say, textRef } from '../../protocol/texts/say.ts';

export interface LinkDeps extends TellDeps {
  surfaces: SurfaceStore;
  labelOf: LabelOf;
  /** Those that are enabled. */
  networks: readonly LinkNetwork[];
  /** True when the platform gives this person the rights of an administrator in the group. Throws `GatewayError`. */
  isGroupAdmin(address: Address, senderId: string): Promise<boolean>;
  log: Log;
}

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
export async function giveCode(deps: LinkDeps, session: SessionKey, by: Linking): Promise<GivenCode> {
  await checkGroup(deps, by);
  const code = newLinkCode();
  const given = await deps.surfaces.giveCode(hashLinkCode(code) ?? '', { ...endOf(by), session });
  if (given === undefined) throw new GatewayError('too_many_surfaces', textRef('link.too_many'));
  deps.log.info({ address: by.address, sessionKey: session, userId: by.userId }, 'link_code_given');
  const { channel } = parseAddress(by.address);
  return { code, commands: linkCommands(code, deps.networks, channel), expiresAt: given.expiresAt };
}

/** Enters a code: both chats are asked. Throws `GatewayError('forbidden')`. */
export async function enterCode(deps: LinkDeps, typed: string, by: Linking): Promise<EnteredCode> {
  await checkGroup(deps, by);
  const { address, userId } = by;
  // Text that cannot be a code counts as a wrong one.
  const entered = await deps.surfaces.enterCode(hashLinkCode(typed) ?? 'none', endOf(by));
  if (entered.kind === 'limited')
    deps.log.warn({ address, userId, reached: entered.reached }, 'link_guessing');
  if (entered.kind !== 'asked' || entered.again) return entered;
  const { link } = entered;
  deps.log.info({ address, userId, sessionKey: link.session, from: link.from.address }, 'link_code_entered');
  const ref = askRef(link);
  const { host, guest } = sidesOf(link);
  for (const [end, explain] of [
    [host, explainToHost],
    [guest, explainToGuest],
  ] as const) {
    const say = await sayTo(deps, end);
    const content = `${explain(link, deps.labelOf, say)}\n\n${say('link.how')}`;
    await tell(deps, end.address, { ref, content, buttons: buttonsOf(link, say) });
  }
  return entered;
}

/** Agrees for the side of this chat. Once both have agreed, all chats of the conversation are notified. */
export async function agreeToLink(
  deps: LinkDeps,
  by: { address: Address; userId: string; owner: boolean; id?: string | undefined },
): Promise<AgreedLink> {
  const agreed = await deps.surfaces.agree(by);
  if (agreed.kind !== 'joined') return agreed;
  const { link, session, surfaces } = agreed;
  deps.log.info({ sessionKey: session, from: link.from.address, to: link.to.address }, 'surfaces_linked');
  deps.events.emit(session, { type: 'surfaces_changed' });
  await settleAsked(deps, link, 'link.joined');
  const where = whereOf(sidesOf(link).guest, deps.labelOf);
  for (const surface of surfaces) {
    const content = (await sayTo(deps, surface))('link.has_joined', { where });
    await tell(deps, surface.address, { ref: `link:${link.id}:joined`, content });
  }
  return agreed;
}

/** Ends the pending request in this chat; both sides are notified. Undefined when nothing is pending. */
export async function declineLink(
  deps: LinkDeps,
  address: Address,
  id?: string,
): Promise<OpenLink | undefined> {
  const link = await deps.surfaces.decline(address, id);
  if (link === undefined) return undefined;
  deps.log.info({ sessionKey: link.session, from: link.from.address, to: link.to.address }, 'link_declined');
  await settleAsked(deps, link, 'link.declined');
  return link;
}

/**
 * Separates a chat. With two chats, the conversation stays with the one it belonged to, no matter which of them leaves;
 * with more, the leaving chat starts a new conversation. A chat on the web keeps its own in any case: the others leave
 * it. All are notified except the `asker`, which gets an answer. Undefined when the chat shares no conversation.
 */
export async function separate(
  deps: LinkDeps,
  address: Address,
  asker: Address = address,
): Promise<LeftSurface | undefined> {
  const own = await deps.surfaces.surface(address);
  if (own === undefined) return undefined;
  const session = await deps.ledger.sessionOf(address);
  const all = await deps.surfaces.surfaces(session);
  const others = all.filter((surface) => surface.address !== address).map((surface) => surface.address);
  const keeps = session === address && (others.length === 1 || parseAddress(address).channel === 'http');
  let gone: LeftSurface | undefined;
  for (const leaving of keeps ? others : [address]) gone = (await leaveAsked(deps, leaving, asker)) ?? gone;
  return gone;
}

/** One chat leaves; all are notified except the one that requested it. */
async function leaveAsked(
  deps: LinkDeps,
  leaving: Address,
  asker: Address,
): Promise<LeftSurface | undefined> {
  const gone = await deps.surfaces.leave(leaving);
  if (gone === undefined) return undefined;
  deps.log.info({ address: leaving, sessionKey: gone.session, why: 'asked' }, 'surface_left');
  deps.events.emit(gone.session, { type: 'surfaces_changed' });
  const where = whereOf(gone.left, deps.labelOf);
  const ref = `surface-left:${newId()}`;
  for (const one of gone.others.filter((left) => left.address !== asker)) {
    const content = (await sayTo(deps, one))('unlink.has_left', { where });
    await tell(deps, one.address, { ref, content });
  }
  if (leaving !== asker)
    await tell(deps, leaving, { ref, content: (await sayTo(deps, gone.left))('unlink.went_on') });
  return gone;
}

/** In a group its owner decides: an owner of the gateway, or an administrator of the group. */
async function checkGroup(deps: LinkDeps, { place, owner, address, senderId }: Linking): Promise<void> {
  if (place !== 'group' || owner) return;
  try {
    if (await deps.isGroupAdmin(address, senderId)) return;
  } catch (error) {
    if (!(error instanceof ChannelError)) throw error;
    deps.log.warn({ err: error, address }, 'group_admin_unknown');
    throw new GatewayError('forbidden', textRef('link.admins_unknown'), { cause: error });
  }
  throw new GatewayError('forbidden', textRef('link.admins_only'));
}

function endOf({ address, place, name, userId }: Linking): SurfaceEnd {
  return { address, place, ...(name !== undefined && { name }), userId };
}

/** Updates the question in both chats, without its buttons once it is settled. */
async function settleAsked(
  deps: LinkDeps,
  link: OpenLink,
  outcome: 'link.joined' | 'link.declined',
): Promise<void> {
  for (const [end, other] of [
    [link.from, link.to],
    [link.to, link.from],
  ] as const) {
    const content = (await sayTo(deps, end))(outcome, { where: whereOf(other, deps.labelOf) });
    await tell(deps, end.address, { ref: askRef(link), key: 'settled', content });
  }
}

/** The delivery of the question, without its chat. */
export function askRef({ id }: Pick<OpenLink, 'id'>): string {
  return `link:${id}:asked`;
}

function buttonsOf({ id }: OpenLink, say: Say): Button[] {
  return [
    { label: say('link.join'), value: `link:yes:${id}`, style: 'confirm' },
    { label: say('link.decline'), value: `link:no:${id}`, style: 'danger' },
  ];
}

/** Asks the channel of a group; a channel without groups has no administrators. */
export function groupAdminIn(channels: ReadonlyMap<string, Channel>): LinkDeps['isGroupAdmin'] {
  return async (address, senderId) => {
    const place = parseAddress(address);
    return (await channels.get(place.channel)?.isAdmin?.(place, senderId)) === true;
  };
}
