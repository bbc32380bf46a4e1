/** Current members of guilds: their roles if an event does not name them, and who is an administrator. */
import { PermissionFlagsBits } from 'discord-api-types/v10';
import { z } from 'zod';
import { ChannelError } from '../../../src/protocol/errors.ts';
import type { Membership, Place } from '../../../src/protocol/message.ts';
import { hasCode } from '../errors.ts';
import { readChannel } from '../receiving/inbound.ts';
import { Snowflake } from '../receiving/quoted.ts';
import type { DiscordRest } from '../rest/rest.ts';
import { channelIdOf } from '../sending.ts';

const Roles = z.object({ roles: z.array(Snowflake) });
const Guild = z.object({
  owner_id: Snowflake,
  roles: z.array(z.object({ id: Snowflake, permissions: z.string().regex(/^\d{1,20}$/) })),
});
/** A role with one of these permissions may decide what the guild's other chats are. */
const ADMINISTRATES = PermissionFlagsBits.Administrator | PermissionFlagsBits.ManageGuild;
/** Discord's codes for a guild, a channel or a member that it does not show this bot. */
const NOT_THERE = [10_003, 10_004, 10_007, 50_001];

export class Members {
  readonly #rest: Pick<DiscordRest, 'call'>;

  constructor(rest: Pick<DiscordRest, 'call'>) {
    this.#rest = rest;
  }

  /**
   * Ids of a person's roles (`GET /guilds/{id}/members/{id}`); undefined if the person is not a member. Throws
   * `ChannelError`.
   */
  async rolesOf(guildId: string, userId: string): Promise<string[] | undefined> {
    const path = `/guilds/${guildId}/members/${userId}` as const;
    const answer = await this.#unlessUnknown({ method: 'get', path, bucket: `member ${guildId}` });
    return Roles.safeParse(answer).data?.roles;
  }

  /** Whether a person owns the guild of a channel, or has a role with Administrator or Manage Server. Throws `ChannelError`. */
  async isAdmin(place: Place, userId: string): Promise<boolean> {
    const channelId = channelIdOf({ ...place, threadId: undefined });
    const path = `/channels/${channelId}` as const;
    const guildId = readChannel(
      await this.#unlessUnknown({ method: 'get', path, bucket: 'channel' }),
    )?.guildId;
    if (guildId === undefined || !Snowflake.safeParse(userId).success) return false;
    const guildPath = `/guilds/${guildId}` as const;
    const answer = await this.#unlessUnknown({ method: 'get', path: guildPath, bucket: `guild ${guildId}` });
    const guild = Guild.safeParse(answer).data;
    const own = guild && (await this.rolesOf(guildId, userId));
    if (guild === undefined || own === undefined) return false;
    // Everyone has the role whose id is that of the guild.
    const held = guild.roles.filter(({ id }) => id === guildId || own.includes(id));
    return (
      guild.owner_id === userId ||
      held.some(({ permissions }) => (BigInt(permissions) & ADMINISTRATES) !== 0n)
    );
  }

  async #unlessUnknown(call: Parameters<DiscordRest['call']>[0]): Promise<unknown> {
    try {
      return await this.#rest.call(call);
    } catch (error) {
      if (error instanceof ChannelError && NOT_THERE.some((code) => hasCode(error.cause, code)))
        return undefined;
      throw error;
    }
  }
}

/** What a person belongs to, in the form in which access is granted to it. Pure. */
export function membershipsOf(guildId: string | undefined, roles: readonly string[] = []): Membership[] {
  if (guildId === undefined) return [];
  return [{ kind: 'guild', id: guildId }, ...roles.map((id) => ({ kind: 'role' as const, id }))];
}
