/** What happens when the bot joins a chat, or can no longer write there. */
import type { AccessPolicy } from '../../contracts/access.ts';
import type { MessageBus } from '../../contracts/bus.ts';
import type { Log } from '../../contracts/log.ts';
import { addressOf } from '../../contracts/message.ts';
import type { InboundMessage, MembershipChange, NoteMembership } from '../../contracts/message.ts';
import type { Ledger } from '../../contracts/store/ledger.ts';
import type { LaneStore } from '../../contracts/store/lanes.ts';
import { stopSession } from '../commands.ts';

export interface MembershipDeps {
  accessPolicy: Pick<AccessPolicy, 'authorize'>;
  ledger: Pick<Ledger, 'sessionOf' | 'enqueue'>;
  lanes: Pick<LaneStore, 'stop'>;
  bus: Pick<MessageBus, 'notifyStop' | 'sweepSoon' | 'claimingNode' | 'runHeads'>;
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

/** Nobody reads the answers of this chat any more. A session that other chats share goes on for them. */
async function endWork(deps: MembershipDeps, { channel, chatId }: MembershipChange): Promise<void> {
  const address = addressOf({ channel, chatId });
  const session = await deps.ledger.sessionOf(address);
  if (session === address) await stopSession(deps, session, false);
}

/** The group reads how the bot is asked there, or what allows it. */
async function greet(deps: MembershipDeps, change: MembershipChange): Promise<void> {
  const { channel, chatId, id } = change;
  const content = await greetingOf(deps.accessPolicy, change);
  const message = { channel, chatId, content, media: [], buttons: [] };
  const delivery = { ref: `joined:${channel}:${id}`, message };
  const address = addressOf({ channel, chatId });
  deps.bus.runHeads(await deps.ledger.enqueue(address, delivery, deps.bus.claimingNode('out')));
}

async function greetingOf(
  { authorize }: Pick<AccessPolicy, 'authorize'>,
  change: MembershipChange,
): Promise<string> {
  const said = saidBy(change);
  if ((await authorize({ ...said, mentioned: true })).kind !== 'allow')
    return `Hello! I answer only in groups that whoever runs me has allowed. This one is allowed on the gateway's machine with: npx parley pair group ${change.channel} ${change.chatId}`;
  const help = 'Send /help to see what else I can do.';
  const answersAll = (await authorize({ ...said, mentioned: false })).kind === 'allow';
  if (!answersAll || !change.readsAll)
    return `Hello! Mention me, reply to one of my messages or send a command, and I answer. ${help}`;
  return `Hello! I answer every message here. ${help}`;
}

/** A message that a member could write, for the question who is answered. */
function saidBy({ channel, chatId, place, id, byId }: MembershipChange): InboundMessage {
  const base = { id, senderId: byId, content: '', timestamp: 0, media: [], mentioned: true };
  return { channel, chatId, place, ...base };
}
