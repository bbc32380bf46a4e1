/** What people read about the chats that share a conversation. */
import type { Contact } from '../../protocol/delivery.ts';
import { type Address, parseAddress } from '../../protocol/message.ts';
import {
  type EnteredCode,
  type LinkCommand,
  type OpenLink,
  sidesOf,
  type Surface,
  type SurfaceEnd,
} from '../../protocol/sessions/surfaces.ts';
import { clipEnd, oneLine } from '../../lib/text.ts';
import { type Say, textRef, type TextRef } from '../../protocol/texts/say.ts';
import type { WriteCommand } from '../../protocol/isomorphic/fill-text.js';

/** Returns the display name of a channel. */
export type LabelOf = (channel: string) => string | undefined;

/** Longest name of a person that is shown, in UTF-16 units. */
const MAX_NAME = 60;

/** A name as text: strangers choose theirs, so it may contain no markup or line breaks. */
export function plainName(name: string): string {
  return clipEnd(oneLine(name.replaceAll(/[\p{C}`*_~|<>[\]()\\#]/gu, '')), MAX_NAME);
}

/** The network's display name. */
export function networkOf(address: Address, labelOf: LabelOf): string {
  const { channel } = parseAddress(address);
  return labelOf(channel) ?? channel;
}

/** `Telegram (private chat with Ada)`, `Slack (group chat "general")`. */
export function whereOf(
  end: Omit<SurfaceEnd, 'userId'>,
  labelOf: LabelOf,
  group?: Pick<Contact, 'name'>,
): TextRef {
  const network = networkOf(end.address, labelOf);
  // The name of an end is a person's: it says nothing about a group.
  if (end.place === 'group') {
    const groupName = plainName(group?.name ?? '');
    if (groupName === '') return textRef('surfaces.group', { network });
    return textRef('surfaces.group_called', { network, name: groupName });
  }
  const name = plainName(end.name ?? '');
  return name === ''
    ? textRef('surfaces.private', { network })
    : textRef('surfaces.private_with', { network, name });
}

/** What will happen, for the chat that joins the conversation of another. */
export function explainToGuest(link: OpenLink, labelOf: LabelOf, say: Say): string {
  const { host, guest } = sidesOf(link);
  const where = whereOf(host, labelOf);
  return [
    say(guest === link.to ? 'link.explain_join' : 'link.explain_entered', { where }),
    guest.place === 'group'
      ? say('link.group_reads_there')
      : host.place === 'group'
        ? say('link.group_reads_here')
        : '',
    say('link.stays'),
    guest === link.to ? '' : say('link.decline_strangers'),
  ]
    .filter((line) => line !== '')
    .join(' ');
}

/** What will happen, for the chat whose conversation continues. */
export function explainToHost(link: OpenLink, labelOf: LabelOf, say: Say): string {
  const { host, guest } = sidesOf(link);
  const group = guest.place === 'group' ? [say('link.group_reads_here')] : [];
  const where = whereOf(guest, labelOf);
  const explanation = say(host === link.from ? 'link.explain_asked' : 'link.explain_given', { where });
  return [explanation, ...group, say('link.decline_strangers')].join(' ');
}

/** What happened with a code when no one is asked. */
export function describeRefused(entered: Exclude<EnteredCode, { kind: 'asked' }>, say: Say): string {
  switch (entered.kind) {
    case 'unknown':
      return say('link.unknown', { count: entered.triesLeft });
    case 'limited':
      return say('link.limited', { count: Math.max(1, Math.ceil(entered.retryAfterMs / 60_000)) });
    case 'linked':
      return say(entered.giver ? 'link.giver_linked' : 'link.linked');
    case 'full':
      return say('link.full', { most: entered.limit });
    case 'expired':
    case 'used':
    case 'same':
    case 'web':
      return say(`link.${entered.kind}`);
    default:
      return entered satisfies never;
  }
}

/** The list, one line each; `here` is marked. `groups` are those whose names are known, by address. */
export function listSurfaces(
  surfaces: readonly Surface[],
  current: string,
  labelOf: LabelOf,
  say: Say,
  groups: ReadonlyMap<string, Contact> = new Map(),
): string {
  if (surfaces.length === 0) return say('surfaces.none');
  const lines = surfaces.map((surface) => {
    const since = surface.linkedAt.toISOString().slice(0, 16).replace('T', ' ');
    const key = surface.address === current ? 'surfaces.here' : 'surfaces.line';
    const group = groups.get(surface.address);
    return say(key, { where: whereOf(surface, labelOf, group), since });
  });
  return [say('surfaces.list'), ...lines].join('\n');
}

/** A network on which people can enter a code. */
export interface LinkNetwork {
  name: string;
  label: string;
  writeCommand: WriteCommand;
}

/** Each spelling once, with its networks; without the web if `from` is the web: web sessions cannot be linked. */
export function linkCommands(code: string, networks: readonly LinkNetwork[], from: string): LinkCommand[] {
  const spellings = new Map<string, string[]>();
  for (const { name, label, writeCommand } of networks) {
    if (name === 'http' && from === 'http') continue;
    const command = `${writeCommand('link')} ${code}`;
    spellings.set(command, [...(spellings.get(command) ?? []), label]);
  }
  return [...spellings].map(([command, labels]) => ({ command, networks: labels }));
}

/** One command alone, or several with their networks. */
export function listCommands(commands: readonly LinkCommand[]): string {
  if (commands.length <= 1) return commands.map(({ command }) => `\`${command}\``).join('');
  return commands.map(({ command, networks }) => `\`${command}\` (${networks.join(', ')})`).join(', ');
}
