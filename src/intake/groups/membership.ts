/** What happens when the bot joins a chat, or can no longer write there. */
import type { AccessPolicy } from '../../protocol/access.ts';
import type { MessageBus } from '../../protocol/bus.ts';
import type { Log } from '../../protocol/log.ts';
import {
  addressOf,
  type InboundMessage,
  type MembershipChange,
  type NoteMembership,
} from '../../protocol/message.ts';
import type { Ledger } from '../../protocol/store/ledger.ts';
import type { DropSurface } from '../../protocol/sessions/surfaces.ts';
import type { LaneStore } from '../../protocol/store/lanes.ts';
import { copyButtons } from '../reply.ts';
import { stopSession } from '../sessions/stop-session.ts';
import type { PersonLanguages } from '../../protocol/texts/languages.ts';
import type { Say } from '../../protocol/texts/say.ts';

export interface MembershipDeps {
  accessPolicy: Pick<AccessPolicy, 'authorize'>;
  languages: Pick<PersonLanguages, 'say' | 'languageOf'>;
  ledger: Pick<Ledger, 'sessionOf' | 'enqueue'>;
  lanes: Pick<LaneStore, 'stop'>;
  bus: Pick<MessageBus, 'notifyStop' | 'sweepSoon' | 'claimingNode' | 'runHeads'>;
  /** Separates the chat from those that share its conversation. */
  dropSurface: DropSurface;
  log: Log;
}

/** Makes `NoteMembership`. */
export function createNoteMembership(deps: MembershipDeps): NoteMembership {
  return async (change) => {
    const { channel, chatId, place } = change;
    deps.log.info({ channel, chatId, change: change.change }, 'membership_changed');
    if (change.change === 'left') await endWork(deps, change);
    else if (place === 'group') await greet(deps, change);
  };
}

/** No one reads the answers of this chat anymore. A session that other chats share continues for them. */
async function endWork(deps: MembershipDeps, { channel, chatId }: MembershipChange): Promise<void> {
  const address = addressOf({ channel, chatId });
  if (await deps.dropSurface(address)) return;
  const session = await deps.ledger.sessionOf(address);
  if (session === address) await stopSession(deps, session, false);
}

/** Tells the group how to address the bot there, or how to allow it. */
async function greet(deps: MembershipDeps, change: MembershipChange): Promise<void> {
  const { channel, chatId, id } = change;
  const language = await deps.languages.languageOf(`${channel}:${change.byId}`, change.language);
  const say = deps.languages.say({ language, channel });
  const content = await greetingOf(deps.accessPolicy, change, say);
  const message = { channel, chatId, content, media: [], buttons: copyButtons(content, say) };
  const delivery = { ref: `joined:${channel}:${id}`, message };
  const address = addressOf({ channel, chatId });
  deps.bus.runHeads(await deps.ledger.enqueue(address, delivery, deps.bus.claimingNode('out')));
}

async function greetingOf(
  { authorize }: Pick<AccessPolicy, 'authorize'>,
  change: MembershipChange,
  say: Say,
): Promise<string> {
  const said = saidBy(change);
  if ((await authorize({ ...said, mentioned: true })).kind !== 'allow')
    return say('group.hello_not_allowed', { channel: change.channel, chat: change.chatId });
  const answersAll = (await authorize({ ...said, mentioned: false })).kind === 'allow';
  return say(!answersAll || !change.readsAll ? 'group.hello_mention' : 'group.hello');
}

/** A message that a member could write, to check who is answered. */
function saidBy({ channel, chatId, place, id, byId }: MembershipChange): InboundMessage {
  const base = { id, senderId: byId, content: '', timestamp: 0, media: [], mentioned: true };
  return { channel, chatId, place, ...base };
}
