/** How the answers of a chat are streamed: what `/stream` keeps, and where the channel cannot do that, what comes nearest. */
import type { Channel } from '../../contracts/channel.ts';
import type { Command } from '../../contracts/command.ts';
import { STREAM_MODES, STREAM_SETTING } from '../../contracts/delivery.ts';
import type { DraftRules, StreamMode } from '../../contracts/delivery.ts';
import { GatewayError, toGatewayError } from '../../contracts/errors.ts';
import type { Log } from '../../contracts/log.ts';
import { addressOf, parseAddress } from '../../contracts/message.ts';
import type { Address } from '../../contracts/message.ts';
import type { ChatSettingStore } from '../../contracts/store/chat-settings.ts';
import { said } from '../../contracts/texts/say.ts';
import type { PlainKey } from '../../contracts/texts/say.ts';

export interface StreamModeDeps {
  channels: ReadonlyMap<string, Channel>;
  chatSettings: ChatSettingStore;
  log: Log;
}

/** Reads the mode of the chat of an address; that of the channel while the store is unavailable. Never throws. */
export function createStreamMode(deps: StreamModeDeps): (address: Address) => Promise<StreamMode> {
  return async (address) => {
    try {
      return await modeOf(deps, address);
    } catch (error) {
      deps.log.warn({ err: toGatewayError(error), address }, 'stream_mode_unknown');
      return 'edit';
    }
  };
}

/** Lets a reply appear as its chat has chosen; a growing message where nobody tells. Never rejects. */
export async function streamReply(
  modeOf: ((address: Address) => Promise<StreamMode>) | undefined,
  { address }: { address: Address },
  { capabilities: { draft } }: Pick<Channel, 'capabilities'>,
  reply: { begin(): void; beginDrafts(rules: DraftRules): void },
): Promise<void> {
  if (modeOf === undefined) {
    reply.begin();
    return;
  }
  const mode = await modeOf(address);
  if (mode === 'draft' && draft !== undefined) reply.beginDrafts(draft);
  else if (mode !== 'off') reply.begin();
}

/** The modes in which answers can appear in a chat. */
function modesOf({ channels }: Pick<StreamModeDeps, 'channels'>, address: Address): StreamMode[] {
  const { channel, chatId } = parseAddress(address);
  const on = channels.get(channel);
  return STREAM_MODES.filter((mode) => {
    if (mode === 'draft') return on?.capabilities.draft?.shownIn(chatId) === true;
    return mode === 'off' || on?.capabilities.edit === true;
  });
}

async function modeOf(deps: Omit<StreamModeDeps, 'log'>, address: Address): Promise<StreamMode> {
  const kept = await deps.chatSettings.chatSetting(chatOf(address), STREAM_SETTING);
  const chosen = kept ?? deps.channels.get(parseAddress(address).channel)?.capabilities.stream;
  const modes = modesOf(deps, address);
  return modes.find((mode) => mode === chosen) ?? (modes.includes('edit') ? 'edit' : 'off');
}

/** The address without a topic, which all its topics share. */
function chatOf(address: Address): Address {
  const { channel, chatId } = parseAddress(address);
  return addressOf({ channel, chatId });
}

const MEANING: Record<StreamMode, PlainKey> = {
  draft: 'stream.draft',
  edit: 'stream.edit',
  off: 'stream.off',
};

/** Makes the command `/stream`. */
export function createStreamCommand(deps: Omit<StreamModeDeps, 'log'>): Command {
  return {
    name: 'stream',
    description: 'about.stream',
    argument: { name: 'mode', label: 'word.mode', description: 'argument.stream', required: false },
    async run({ address, args, say }) {
      const modes = modesOf(deps, address);
      if (parseAddress(address).channel === 'http' || modes.length < 2)
        throw new GatewayError('bad_stream_mode', said('stream.own'));
      if (args === '') {
        const mode = await modeOf(deps, address);
        const choices = modes.map((one) => `${say.command('stream')} ${one}`).join(', ');
        return say('stream.now', { how: say(MEANING[mode]), mode, choices });
      }
      const mode = modes.find((one) => one === args.toLowerCase());
      if (mode === undefined)
        throw new GatewayError('bad_stream_mode', said('stream.unknown', { modes: modes.join(', ') }));
      await deps.chatSettings.setChatSetting(chatOf(address), STREAM_SETTING, mode);
      return say('stream.changed', { how: say(MEANING[mode]) });
    },
  };
}
