/** `/link`, `/unlink` and `/surfaces`, and the buttons below the question whether two chats share a conversation. */
import type { IntakeContext } from '../context.ts';
import type { Command, CommandCall } from '../../protocol/command.ts';
import type { PressHandler } from '../../protocol/receive.ts';
import type { Contact } from '../../protocol/delivery.ts';
import { chatOf } from '../../protocol/message.ts';
import type { AgreedLink, Surface } from '../../protocol/sessions/surfaces.ts';
import { describeRefused, listCommands, listSurfaces, whereOf } from './surface-text.ts';
import { agreeToLink, askRef, declineLink, enterCode, giveCode, linkingOf, separate } from './links.ts';
import type { PlainKey, Say } from '../../protocol/texts/say.ts';

/** Makes the commands. */
export function createSurfaceCommands(context: IntakeContext): Command[] {
  return [
    {
      name: 'link',
      personal: true,
      description: 'about.link',
      argument: { name: 'code', label: 'word.code', description: 'argument.link', required: false },
      run: (call) => link(context, call),
    },
    {
      name: 'unlink',
      description: 'about.unlink',
      run: (call) => unlink(context, call),
    },
    {
      name: 'surfaces',
      personal: true,
      description: 'about.surfaces',
      async run({ session, address, say }) {
        const surfaces = await context.store.surfaces.surfaces(session);
        const groups = await groupsOf(context.store, surfaces);
        return listSurfaces(surfaces, address, context.linking.labelOf, say, groups);
      },
    },
  ];
}

/** Makes the handler of the buttons. */
export function createLinkButtons(context: IntakeContext): PressHandler {
  return async ({ value, address, userId, owner, say }) => {
    const [, answer, id] = /^link:(yes|no):([0-9a-f]{16})$/.exec(value) ?? [];
    if (id === undefined) return undefined;
    const shownBy = `${askRef(id)}@${address}`;
    if (answer === 'no') {
      return { reply: say(await declineAs(context, { address, userId, owner, id })), shownBy };
    }
    const agreed = await agreeToLink(context, { address, userId, owner, id });
    return { reply: describeAgreed(context, agreed, say), shownBy };
  };
}

/** Declines for whoever is asked, or an owner; what they read then. */
async function declineAs(
  context: IntakeContext,
  { address, userId, owner, id }: Parameters<typeof agreeToLink>[1],
): Promise<PlainKey> {
  const open = await context.store.surfaces.openLink(address);
  if (open === undefined) return 'link.nothing';
  if (!owner && open.from.userId !== userId && open.to.userId !== userId) return 'link.foreign';
  const declined = await declineLink(context, address, id);
  return declined === undefined ? 'link.nothing' : 'link.declined_here';
}

async function link(context: IntakeContext, call: CommandCall): Promise<string> {
  const { args, address, session, userId, owner, say } = call;
  const word = args.toLowerCase();
  if (word === 'yes')
    return describeAgreed(context, await agreeToLink(context, { address, userId, owner }), say);
  if (word === 'no') return say(await declineAs(context, { address, userId, owner }));
  const by = linkingOf(call);
  if (args === '') {
    const { commands } = await giveCode(context, session, by);
    return say('link.code', { ways: listCommands(commands) });
  }
  const entered = await enterCode(context, args, by);
  if (entered.kind !== 'asked') return describeRefused(entered, say);
  return say('link.requested', { where: whereOf(entered.link.from, context.linking.labelOf) });
}

/** The groups among these chats, by the address of the chat there. Throws only `StoreError`. */
async function groupsOf(
  { contacts }: Pick<IntakeContext['store'], 'contacts'>,
  surfaces: readonly Surface[],
): Promise<Map<string, Contact>> {
  const groups = new Map<string, Contact>();
  for (const { address, place } of surfaces) {
    const group = place === 'group' ? await contacts.contact(chatOf(address)) : undefined;
    if (group !== undefined) groups.set(address, group);
  }
  return groups;
}

function describeAgreed(context: IntakeContext, agreed: AgreedLink, say: Say): string {
  switch (agreed.kind) {
    case 'joined':
      return say('link.both_agreed');
    case 'waiting': {
      const { from, to, agreed: by } = agreed.link;
      return say('link.waiting', { where: whereOf(by.from ? to : from, context.linking.labelOf) });
    }
    case 'none':
      return say('link.nothing');
    case 'forbidden':
      return say('link.foreign');
    case 'full':
      return say('link.full', { most: agreed.limit });
    default:
      return agreed satisfies never;
  }
}

async function unlink(context: IntakeContext, call: CommandCall): Promise<string> {
  const departure = await separate(context, call.address);
  if (departure === undefined) return call.say('unlink.alone');
  return call.say(departure.left.address === call.address ? 'unlink.left' : 'unlink.separated');
}
