/** Linking over HTTP, behind the same owner check as the sessions. */
import type { IntakeContext } from '../context.ts';
import type { Caller } from '../../protocol/access.ts';
import { GatewayError } from '../../protocol/errors.ts';
import { isHttpSessionId, type SessionKey } from '../../protocol/message.ts';
import type { EnteredCode, OpenLink, SurfaceApi, SurfaceEnd } from '../../protocol/sessions/surfaces.ts';
import { inEnglish } from '../../protocol/texts/say.ts';
import { isAdmin, type OwnedSessions, ownSession } from '../sessions.ts';
import {
  agreeToLink,
  declineLink,
  enterCode,
  giveCode,
  hashLinkCode,
  type Linking,
  separate,
} from './links.ts';
import { describeRefused } from './surface-text.ts';

/** Digits of a code's digest that identify a link. */
const ID_LENGTH = 16;

/** Makes the API. */
export function createSurfaceApi(context: IntakeContext, sessions: OwnedSessions): SurfaceApi {
  const { visible } = sessions;
  return {
    async list(caller, key) {
      if ((await visible(caller, key)) === undefined) return undefined;
      const open = await context.store.surfaces.openLink(key);
      return { surfaces: await context.store.surfaces.surfaces(key), asks: open && askedOf(open, key) };
    },
    async giveCode(caller, key) {
      const by = linkingBy(caller, key);
      return (await ownSession(sessions, caller, key)) && (await giveCode(context, key, by));
    },
    async enterCode(caller, key, code) {
      const by = linkingBy(caller, key);
      if ((await ownSession(sessions, caller, key)) === undefined) return undefined;
      const entered = await enterCode(context, code, by);
      if (entered.kind !== 'asked') throw refusedCode(entered);
      const { id, from } = entered.link;
      return { asks: { ...from, id }, again: entered.again };
    },
    async answer(caller, key, link, agrees) {
      if ((await visible(caller, key)) === undefined) return undefined;
      const id = isLinkId(link) ? link : (hashLinkCode(link)?.slice(0, ID_LENGTH) ?? 'none');
      const notAsked = new GatewayError('not_asked', 'No one has entered this code, or it has expired.');
      if (!agrees) {
        if ((await declineLink(context, key, id)) === undefined) throw notAsked;
        return 'declined';
      }
      const { userId, owner } = linkingBy(caller, key);
      const agreed = await agreeToLink(context, { address: key, userId, owner, id });
      if (agreed.kind === 'joined' || agreed.kind === 'waiting') return agreed.kind;
      throw notAsked;
    },
    async separate(caller, key, address) {
      if ((await visible(caller, key)) === undefined) return undefined;
      const surfaces = await context.store.surfaces.surfaces(key);
      const match = surfaces.find((surface) => surface.address === address);
      const departure = match && (await separate(context, match.address, key));
      if (departure === undefined)
        throw new GatewayError('not_linked', `${address} does not share this session.`);
      return departure;
    },
  };
}

/** The caller in one of its sessions. Throws `GatewayError('not_an_http_session')`. */
function linkingBy(caller: Caller, key: SessionKey): Linking {
  if (!key.startsWith('http:') || !isHttpSessionId(key.slice('http:'.length)))
    throw new GatewayError(
      'not_an_http_session',
      'A chat on another network gives, enters and answers codes there: send /link in it.',
    );
  const userId = `token:${caller.tokenId}`;
  return { address: key, place: 'private', userId, senderId: userId, owner: isAdmin(caller) };
}

/** The other side, if this one has not agreed yet. */
function askedOf(
  { id, from, to, agreed }: OpenLink,
  key: SessionKey,
): (SurfaceEnd & { id: string }) | undefined {
  if (from.address === key) return agreed.from ? undefined : { ...to, id };
  return agreed.to ? undefined : { ...from, id };
}

/** What happened with a code, as an error; the text is the same as in chats. */
function refusedCode(entered: Exclude<EnteredCode, { kind: 'asked' }>): GatewayError {
  const text = describeRefused(entered, inEnglish);
  if (entered.kind === 'limited')
    return new GatewayError('rate_limited', text, { retryable: true, retryAfterMs: entered.retryAfterMs });
  return new GatewayError(CODES[entered.kind], text);
}

const CODES = {
  unknown: 'unknown_code',
  expired: 'code_expired',
  used: 'code_used',
  same: 'not_linkable',
  linked: 'not_linkable',
  web: 'not_linkable',
  full: 'too_many_surfaces',
} as const;

/** An id has more characters than a code. */
function isLinkId(text: string): boolean {
  return new RegExp(`^[0-9a-f]{${ID_LENGTH}}$`).test(text);
}
