/** How answers in a chat appear: streamed as `/stream` chose, or in the closest mode there is, and rich unless `/rich` is off. */
import type { Channel, ChatSettingStore } from '../../protocol/channel.ts';
import { type Command, ON_OR_OFF } from '../../protocol/command.ts';
import {
  type DraftRules,
  RICH_SETTING,
  STREAM_MODES,
  STREAM_SETTING,
  type StreamMode,
  type StreamModes,
  THINKING_SETTING,
} from '../../protocol/delivery.ts';
import { GatewayError, toGatewayError } from '../../protocol/errors.ts';
import type { Log } from '../../protocol/log.ts';
import { type Address, chatOf, parseAddress } from '../../protocol/message.ts';
import { textRef } from '../../protocol/texts/say.ts';

type Channels = ReadonlyMap<string, Channel>;

/** A chat whose drafts were refused is tried again after this long. */
const REFUSED_MS = 24 * 3_600_000;

/** The key under which a refusal of drafts is stored. */
const REFUSED = 'drafts';

/** Reads what chats have chosen and what platforms have refused there. */
export function createStreamModes(channels: Channels, chatSettings: ChatSettingStore, log: Log): StreamModes {
  return {
    async modeOf(address) {
      try {
        const mode = await modeOf(channels, chatSettings, address);
        if (mode !== 'draft') return mode;
        return (await chatSettings.chatSetting(chatOf(address), REFUSED)) === undefined ? mode : 'edit';
      } catch (error) {
        log.warn({ err: toGatewayError(error), address }, 'stream_mode_unknown');
        return 'edit';
      }
    },
    async showsThinking(address) {
      if (isWholeOnly(channels, address)) return false;
      try {
        return (await chatSettings.chatSetting(chatOf(address), THINKING_SETTING)) === 'on';
      } catch (error) {
        log.warn({ err: toGatewayError(error), address }, 'thinking_setting_unknown');
        return false;
      }
    },
    async noteDraftRefused(address) {
      try {
        await chatSettings.setChatSetting(chatOf(address), REFUSED, 'refused', REFUSED_MS);
      } catch (error) {
        log.warn({ err: toGatewayError(error), address }, 'draft_refusal_not_noted');
      }
    },
  };
}

/** Shows a reply in the mode that its chat has chosen; a growing message if the choice is unknown. Never rejects. */
export async function streamReply(
  modes: StreamModes | undefined,
  address: Address,
  { capabilities: { draft } }: Channel,
  reply: {
    begin(): void;
    beginDrafts(rules: DraftRules, noteRefused: () => void): void;
    showThinking(): void;
  },
): Promise<void> {
  if (modes === undefined) {
    reply.begin();
    return;
  }
  const [mode, showsThinking] = await Promise.all([modes.modeOf(address), modes.showsThinking(address)]);
  if (showsThinking) reply.showThinking();
  if (mode === 'draft' && draft !== undefined)
    reply.beginDrafts(draft, () => void modes.noteDraftRefused(address));
  else if (mode !== 'off') reply.begin();
}

/** The modes in which answers can appear in a chat. */
function modesOf(channels: Channels, address: Address): StreamMode[] {
  const { channel: name, chatId } = parseAddress(address);
  const capabilities = channels.get(name)?.capabilities;
  if (isWholeOnly(channels, address)) return ['off'];
  return STREAM_MODES.filter((mode) => {
    if (mode === 'draft') return capabilities?.draft?.shownIn(chatId) === true;
    return mode === 'off' || capabilities?.edit === true;
  });
}

function isWholeOnly(channels: Channels, address: Address): boolean {
  const place = parseAddress(address);
  return channels.get(place.channel)?.capabilities.wholeOnly?.(place) === true;
}

async function modeOf(
  channels: Channels,
  chatSettings: ChatSettingStore,
  address: Address,
): Promise<StreamMode> {
  const setting = await chatSettings.chatSetting(chatOf(address), STREAM_SETTING);
  const choice = setting ?? channels.get(parseAddress(address).channel)?.capabilities.stream;
  const modes = modesOf(channels, address);
  return modes.find((mode) => mode === choice) ?? (modes.includes('edit') ? 'edit' : 'off');
}

/** Creates the command `/stream`. */
export function createStreamCommand(channels: Channels, chatSettings: ChatSettingStore): Command {
  return {
    name: 'stream',
    description: 'about.stream',
    argument: { name: 'mode', label: 'word.mode', description: 'argument.stream', required: false },
    async run({ address, args, say }) {
      const modes = modesOf(channels, address);
      if (parseAddress(address).channel === 'http' || modes.length < 2)
        throw new GatewayError('bad_stream_mode', textRef('stream.own'));
      const [word = '', state] = args.toLowerCase().split(/\s+/);
      if (word === THINKING_SETTING && (state === undefined || state === 'off')) {
        const isOn = state === undefined;
        await chatSettings.setChatSetting(chatOf(address), THINKING_SETTING, isOn ? 'on' : undefined);
        return say(isOn ? 'stream.thinking_on' : 'stream.thinking_off');
      }
      if (args === '') {
        const mode = await modeOf(channels, chatSettings, address);
        const choices = modes.map((one) => `${say.command('stream')} ${one}`).join(', ');
        return say('stream.now', { how: say(`stream.${mode}`), mode, choices });
      }
      const mode = modes.find((one) => one === args.toLowerCase());
      if (mode === undefined)
        throw new GatewayError('bad_stream_mode', textRef('stream.unknown', { modes: modes.join(', ') }));
      await chatSettings.setChatSetting(chatOf(address), STREAM_SETTING, mode);
      return say('stream.changed', { how: say(`stream.${mode}`) });
    },
  };
}

/** Creates the command `/rich`. */
export function createRichCommand(channels: Channels, chatSettings: ChatSettingStore): Command {
  return {
    name: 'rich',
    description: 'about.rich',
    argument: ON_OR_OFF,
    async run({ address, args, say }) {
      if (channels.get(parseAddress(address).channel)?.renderWhole === undefined)
        throw new GatewayError('no_rich_messages', textRef('rich.none'));
      const choice = args.toLowerCase();
      if (args === '') {
        const setting = await chatSettings.chatSetting(chatOf(address), RICH_SETTING);
        return say(setting === 'off' ? 'rich.is_off' : setting === 'on' ? 'rich.is_on' : 'rich.is_usual');
      }
      if (choice !== 'on' && choice !== 'off')
        throw new GatewayError('bad_rich_choice', textRef('rich.unknown'));
      await chatSettings.setChatSetting(chatOf(address), RICH_SETTING, choice);
      return say(choice === 'on' ? 'rich.is_on' : 'rich.is_off');
    },
  };
}
