/** Who has the rights of an administrator in a chat on Slack. */
import { z } from 'zod';
import { channelUnavailable } from '../../src/protocol/errors.ts';
import { USER_ID } from './ids.ts';
import { codeOf } from './errors.ts';
import type { SlackApi } from './web-api.ts';

/** `users.info`: the roles are those in the workspace of the token. */
const Person = z.object({
  user: z.object({
    team_id: z.string().optional(),
    enterprise_user: z.object({ teams: z.array(z.string()).optional() }).optional(),
    deleted: z.boolean().optional(),
    is_bot: z.boolean().optional(),
    is_stranger: z.boolean().optional(),
    is_admin: z.boolean().optional(),
    is_owner: z.boolean().optional(),
  }),
});

/** `conversations.info`: absent for chats that nobody created. */
const Conversation = z.object({ channel: z.object({ creator: z.string().optional() }) });

/** What is known about who asks, and where. */
export interface AskedAdministrator {
  chatId: string;
  userId: string;
  /** The bot's workspace. */
  teamId: string;
}

/**
 * Whether a person administers the workspace, or has created the chat: Slack makes its creator the channel manager.
 * People of other workspaces never do. Throws `ChannelError`; the second call needs scopes of its own.
 */
export async function isAdministrator(
  api: Pick<SlackApi, 'call'>,
  { chatId, userId, teamId }: AskedAdministrator,
): Promise<boolean> {
  if (!USER_ID.test(userId)) return false;
  const person = await personOf(api, userId);
  if (person === undefined || !belongsTo(person, teamId)) return false;
  if (person.is_admin === true || person.is_owner === true) return true;
  const answer = Conversation.safeParse(await api.call('conversations.info', { channel: chatId }));
  if (!answer.success) throw unreadable();
  return answer.data.channel.creator === userId;
}

type Person = z.infer<typeof Person>['user'];

/** Undefined for somebody whom Slack does not know. */
async function personOf(api: Pick<SlackApi, 'call'>, user: string): Promise<Person | undefined> {
  try {
    const { data } = Person.safeParse(await api.call('users.info', { user }));
    if (data === undefined) throw unreadable();
    return data.user;
  } catch (error) {
    if (codeOf(error) === 'user_not_found') return undefined;
    throw error;
  }
}

function belongsTo(person: Person, teamId: string): boolean {
  if (person.deleted === true || person.is_bot === true || person.is_stranger === true) return false;
  return person.team_id === teamId || person.enterprise_user?.teams?.includes(teamId) === true;
}

function unreadable(): Error {
  return channelUnavailable('Slack did not say who administers this channel; asking again later.');
}
