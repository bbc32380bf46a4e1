/** Bindings: which profile and model answer in a chat, or for a person, unless someone has chosen there. */
import { z } from 'zod';
import { isId } from '../protocol/access.ts';
import type { ConfiguredChannel } from '../protocol/channel-manifest.ts';
import { ConfigError } from '../protocol/errors.ts';
import { type Address, parseAddress, userIdOf } from '../protocol/message.ts';
import type { AcceptRequest } from '../protocol/store/accept.ts';
import type { Ledger } from '../protocol/store/ledger.ts';

const MAX_BINDINGS = 1_000;

/** `bindings` of config.json. */
export const bindingsRule = z
  .array(
    z.strictObject({
      channel: z.string().min(1).describe('name of the channel'),
      chat: z.string().min(1).optional().describe('a chat of it, with all its threads'),
      user: z.string().min(1).optional().describe('a person, in that chat or in all'),
      profile: z.string().min(1).describe('the profile that answers'),
      model: z.string().min(1).optional().describe("its model; default: the profile's"),
    }),
  )
  .max(MAX_BINDINGS)
  .default([]);

export type Binding = z.output<typeof bindingsRule>[number];

/** What is wrong with the bindings of these channels: `bindings.2.channel: …`. Profiles are checked once they are loaded. */
export function bindingErrors(
  bindings: readonly Binding[],
  channels: readonly Pick<ConfiguredChannel, 'name' | 'ids'>[],
): string[] {
  const places = new Map<string, number>();
  return bindings.flatMap(({ channel: name, chat, user }, index) => {
    const at = `bindings.${index}`;
    const { ids } = channels.find((channel) => channel.name === name) ?? {};
    if (ids === undefined) {
      const channelNames = channels.flatMap((channel) => (channel.ids === undefined ? [] : [channel.name]));
      return [`${at}.channel: there is no such channel: expected one of ${channelNames.join(', ')}`];
    }
    const place = JSON.stringify([name, chat, user]);
    const first = places.get(place);
    places.set(place, first ?? index);
    return [
      ...(chat === undefined || isId(chat, ids.chatId) ? [] : [`${at}.chat: must be ${ids.description}`]),
      ...(user === undefined || isId(user, ids.userId) ? [] : [`${at}.user: must be ${ids.description}`]),
      ...(first === undefined ? [] : [`${at}: is for the same place as bindings.${first}: keep one of them`]),
    ];
  });
}

/** Throws one `ConfigError` that names every binding to a profile that does not exist. */
export function checkBoundProfiles(bindings: readonly Binding[], profiles: readonly { id: string }[]): void {
  const ids = profiles.map(({ id }) => id);
  const errors = bindings.flatMap(({ profile }, index) =>
    ids.includes(profile)
      ? []
      : [`bindings.${index}.profile: there is no such profile: expected one of ${ids.join(', ')}`],
  );
  if (errors.length > 0) throw new ConfigError('bad_config', `config.json: ${errors.join('; ')}.`);
}

/** The binding of a person (a user id) at an address: person and chat come before chat, then person, then channel. */
export function bindingOf(
  bindings: readonly Binding[],
  { address, userId }: { address: Address; userId: string },
): Binding | undefined {
  const { channel, chatId } = parseAddress(address);
  const fits = bindings.filter(
    (one) =>
      one.channel === channel &&
      (one.chat === undefined || one.chat === chatId) &&
      (one.user === undefined || `${channel}:${one.user}` === userId),
  );
  const weight = ({ chat, user }: Binding): number =>
    (chat === undefined ? 0 : 2) + (user === undefined ? 0 : 1);
  return fits.toSorted((a, b) => weight(b) - weight(a))[0];
}

/**
 * The ledger with bindings: a message without a profile gets the bound one, unless someone chose one for the session; a
 * chosen model stays. Throws what `accept` throws.
 */
export function bindTurns(ledger: Ledger, bindings: () => readonly Binding[]): Ledger {
  const withBinding = async (request: AcceptRequest): Promise<AcceptRequest> => {
    const { address, message, profileId } = request;
    if (profileId !== undefined || bindings().length === 0) return request;
    const binding = bindingOf(bindings(), { address, userId: userIdOf(message) });
    if (binding === undefined) return request;
    const session = await ledger.session(message.sessionKey ?? (await ledger.sessionOf(address)));
    if (session?.profileChosen === true) return request;
    return { ...request, profileId: binding.profile, usualModel: binding.model };
  };
  return { ...ledger, accept: async (request) => await ledger.accept(await withBinding(request)) };
}
