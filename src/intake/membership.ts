/** What happens when the bot joins a chat, or can no longer write there. */
import type { IntakeContext } from './context.ts';
import type { AccessPolicy, ChannelAccess } from '../protocol/access.ts';
import {
  addressOf,
  type ChatMigration,
  type ChatMigrationStore,
  type FollowChatMigration,
  type InboundMessage,
  type MembershipChange,
  type NoteMembership,
} from '../protocol/message.ts';
import { copyButtons, deliver } from './replies.ts';
import { stopSession } from './sessions.ts';
import type { Say } from '../protocol/texts/say.ts';

/** Makes `NoteMembership`. */
export function createNoteMembership(context: IntakeContext): NoteMembership {
  return async (change) => {
    const { channel, chatId, place } = change;
    context.log.info({ channel, chatId, change: change.change }, 'membership_changed');
    if (change.change === 'left') await endWork(context, change);
    else if (place === 'group') await greet(context, change);
  };
}

/** Tells a group that its settings are still those of its old id. */
async function tellMoved(
  { languages, ledger, bus }: MigrationDeps,
  { channel, from, to }: ChatMigration,
): Promise<void> {
  const language = await languages.languageOf(addressOf({ channel, chatId: from }));
  const say = languages.say({ language, channel });
  const content = say('group.moved', { channel, from, to });
  const message = { channel, chatId: to, content, media: [], buttons: [] };
  await deliver({ ledger, bus }, addressOf(message), { ref: `moved:${channel}:${from}:${to}`, message });
}

/** No one reads the answers of this chat anymore. A session that other chats share continues for them. */
async function endWork(context: IntakeContext, { channel, chatId }: MembershipChange): Promise<void> {
  const address = addressOf({ channel, chatId });
  if (await context.linking.dropSurface(address)) return;
  const session = await context.ledger.sessionOf(address);
  if (session === address) await stopSession(context, session, false);
}

/** Tells the group how to address the bot there, or how to allow it. */
async function greet(context: IntakeContext, change: MembershipChange): Promise<void> {
  const { channel, chatId, id } = change;
  const language = await context.languages.languageOf(`${channel}:${change.byId}`, change.language);
  const say = context.languages.say({ language, channel });
  const content = await greetingOf(context.accessPolicy, change, say);
  const message = { channel, chatId, content, media: [], buttons: copyButtons(content, say) };
  const delivery = { ref: `joined:${channel}:${id}`, message };
  const address = addressOf({ channel, chatId });
  await deliver(context, address, delivery);
}

async function greetingOf(accessPolicy: AccessPolicy, change: MembershipChange, say: Say): Promise<string> {
  const sample = sampleOf(change);
  if ((await accessPolicy.authorize({ ...sample, mentioned: true })).kind !== 'allow')
    return say('group.hello_not_allowed', { channel: change.channel, chat: change.chatId });
  const answersAll = (await accessPolicy.authorize({ ...sample, mentioned: false })).kind === 'allow';
  return say(!answersAll || !change.readsAll ? 'group.hello_mention' : 'group.hello');
}

/** A message that a member could write, to check who is answered. */
function sampleOf({ channel, chatId, place, id, byId }: MembershipChange): InboundMessage {
  const base = { id, senderId: byId, content: '', timestamp: 0, media: [], mentioned: true };
  return { channel, chatId, place, ...base };
}

interface MigrationDeps extends Pick<IntakeContext, 'ledger' | 'bus' | 'languages' | 'log'> {
  store: { moves: ChatMigrationStore };
}

/**
 * Makes `FollowChatMigration`. The configuration file keeps the old id: that is logged, and the group is told if it has
 * settings there.
 */
export function createFollowChatMigration(
  deps: MigrationDeps,
  channelAccess: (channel: string) => ChannelAccess | undefined,
): FollowChatMigration {
  const { log } = deps;
  return async (move) => {
    const groups = channelAccess(move.channel)?.groups ?? {};
    const settings = Object.hasOwn(groups, move.from) ? groups[move.from] : undefined;
    const listed = settings !== undefined;
    // Before the move, which a repeat does not make again; the notice is queued once.
    if (settings?.mention === false || settings?.observe === true) await tellMoved(deps, move);
    if (!(await deps.store.moves.moveChat(move, listed))) return;
    log.info(move, 'chat_migrated');
    if (listed) {
      const remedy = `Replace the old id in access.${move.channel}.groups of config.json.`;
      log.warn({ ...move, remedy }, 'chat_migration_not_in_config');
    }
  };
}
