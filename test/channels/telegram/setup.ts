/** Settings and dependencies of the Telegram channel for its tests. */
import { createLog } from '../../../src/ops/log.ts';
import type { Log } from '../../../src/protocol/log.ts';
import type { CommandListing } from '../../../src/protocol/command.ts';
import type { ChatMigration } from '../../../src/protocol/message.ts';
import type { TelegramConfig } from '../../../channels/telegram/config.ts';
import type { ChannelDeps } from '../../../src/protocol/channel.ts';
import type { GatewayApi } from '../../../src/protocol/gateway-api.ts';
import { manifest } from '../../../channels/telegram/manifest.ts';
import { memoryStores, NOBODY } from '../../fakes/stores/channel-stores.ts';
import { FAKE_TOKEN } from '../../fakes/telegram/telegram.ts';

/** The commands of a gateway. */
export const COMMANDS: readonly CommandListing[] = [
  { name: 'stop', description: 'End the running answer' },
  {
    name: 'queue',
    description: 'How to handle messages that arrive meanwhile',
    argument: { name: 'mode', description: 'One of the modes', required: false },
  },
  { name: 'help', description: 'This list' },
];

/** Settings of the channel for a fake Telegram, with the manifest's defaults. */
export function telegramConfig(apiRoot: string): TelegramConfig {
  return { token: FAKE_TOKEN, apiRoot, ...manifest.settings.parse({}) };
}

/** The channel's dependencies: a log whose lines the test reads, and a gateway with those commands. */
export function telegramDeps(lines: string[] = [], moves: ChatMigration[] = []): ChannelDeps {
  const chatMoved = async (move: ChatMigration): Promise<void> => void moves.push(move);
  const membershipChanged = async (): Promise<void> => undefined;
  const subscribe = () => () => undefined;
  const gateway = {
    commands: COMMANDS,
    chatMoved,
    membershipChanged,
    noteRefusal: () => undefined,
    subscribe,
  };
  return { log: quietLog(lines), gateway: gateway as unknown as GatewayApi, ...NOBODY, ...memoryStores() };
}

/** A log whose lines go nowhere, or into `lines`. */
function quietLog(lines: string[] = []): Log {
  return createLog({ level: 'debug', redact: (text) => text, write: (line) => void lines.push(line) });
}
