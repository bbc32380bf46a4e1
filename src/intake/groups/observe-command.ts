/** `/observe`: whether what people say in a group without naming the bot is kept for its next answer. */
import type { AccessPolicy } from '../../contracts/access.ts';
import type { Command } from '../../contracts/command.ts';
import { GatewayError } from '../../contracts/errors.ts';
import { parseAddress } from '../../contracts/message.ts';
import { MAX_OBSERVED } from '../../contracts/store/group-chats.ts';
import type { GroupChatStore } from '../../contracts/store/group-chats.ts';

export interface ObserveDeps {
  accessPolicy: Pick<AccessPolicy, 'observes'>;
  groupChats: Pick<GroupChatStore, 'setObserving'>;
}

/** Makes the command. It throws `GatewayError` outside groups, for others than owners, and for an unknown word. */
export function observeCommand({ accessPolicy, groupChats }: ObserveDeps): Command {
  return {
    name: 'observe',
    place: 'group',
    description: 'Whether I read along in this group (owners switch it)',
    argument: { name: 'on|off', description: 'on or off', required: false },
    async run({ address, place, owner, args }) {
      if (place !== 'group')
        throw new GatewayError('not_a_group', 'There is nothing to observe in a private chat.');
      const { channel, chatId } = parseAddress(address);
      const wanted = args.toLowerCase();
      if (wanted === '') return describe(await accessPolicy.observes({ channel, chatId }));
      if (wanted !== 'on' && wanted !== 'off')
        throw new GatewayError('bad_choice', 'Write /observe on or /observe off.');
      if (!owner) throw new GatewayError('forbidden', 'Only an owner can switch whether I read along here.');
      await groupChats.setObserving({ channel, chatId }, wanted === 'on');
      return describe(wanted === 'on');
    },
  };
}

function describe(on: boolean): string {
  return on
    ? `I read along here: the last ${MAX_OBSERVED} messages that do not mention me are kept, and the model reads them with the next one that does. I answer none of them. /observe off ends it and deletes them.`
    : 'I keep nothing here that does not mention me.';
}
