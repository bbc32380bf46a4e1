/** `/observe`: whether to keep what people say in a group without naming the bot for its next answer. */
import type { AccessPolicy } from '../../protocol/access.ts';
import { type Command, ON_OR_OFF } from '../../protocol/command.ts';
import { GatewayError } from '../../protocol/errors.ts';
import { parseAddress } from '../../protocol/message.ts';
import { type GroupChatStore, MAX_OBSERVED } from '../../protocol/store/group-chats.ts';
import { type Say, textRef } from '../../protocol/texts/say.ts';

export interface ObserveDeps {
  accessPolicy: Pick<AccessPolicy, 'observes'>;
  groupChats: Pick<GroupChatStore, 'setObserving'>;
}

/** Makes the command. It throws `GatewayError` outside groups, for anyone but owners, and for an unknown word. */
export function observeCommand({ accessPolicy, groupChats }: ObserveDeps): Command {
  return {
    name: 'observe',
    place: 'group',
    owners: true,
    description: 'about.observe',
    argument: ON_OR_OFF,
    async run({ address, place, owner, args, say }) {
      if (place !== 'group') throw new GatewayError('not_a_group', textRef('observe.private'));
      const { channel, chatId } = parseAddress(address);
      const wanted = args.toLowerCase();
      if (wanted === '') return describe(await accessPolicy.observes({ channel, chatId }), say);
      if (wanted !== 'on' && wanted !== 'off') throw new GatewayError('bad_choice', textRef('observe.usage'));
      if (!owner) throw new GatewayError('forbidden', textRef('observe.owners_only'));
      await groupChats.setObserving({ channel, chatId }, wanted === 'on');
      return describe(wanted === 'on', say);
    },
  };
}

function describe(on: boolean, say: Say): string {
  return on ? say('observe.on', { most: MAX_OBSERVED }) : say('observe.off');
}
