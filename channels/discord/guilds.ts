/** What the bot can ask about a server: its own role there, the roles of members, and who is an administrator. */
import { PermissionFlagsBits, PermissionsBitField, RESTJSONErrorCodes, Routes } from 'discord.js';
import { z } from 'zod';
import { ChannelError } from '../../src/protocol/errors.ts';
import type { Log } from '../../src/protocol/log.ts';
import type { Membership, Place } from '../../src/protocol/message.ts';
import { TtlCache } from '../../src/lib/ttl-cache.ts';
import { hasCode } from './errors.ts';
import { readChannel } from './receiving/inbound.ts';
import { Snowflake } from './receiving/message-parts.ts';
import type { DiscordRest } from './rest.ts';
import { channelIdOf } from './sending.ts';

/** Servers whose role is remembered, and for how long in milliseconds: a bot that is invited again gets a new one. */
export const MAX_GUILDS = 2_500;
const REMEMBERED_MS = 3_600_000;

const GuildRoles = z.array(
  z.object({ id: Snowflake, tags: z.object({ bot_id: Snowflake.optional() }).optional() }),
);

const Named = z.array(z.object({ id: Snowflake, name: z.string() }));
/** Servers whose names of channels and roles are remembered: a server may have 500 channels and 250 roles. */
export const MAX_NAMED_GUILDS = 100;

const Member = z.object({ roles: z.array(Snowflake) });
const Guild = z.object({
  owner_id: Snowflake,
  roles: z.array(z.object({ id: Snowflake, permissions: z.string().regex(/^\d{1,20}$/) })),
});

export class Guilds {
  readonly #rest: DiscordRest;
  readonly #log: Log;
  /** The bot's role by server; `''` for a server in which the bot has no role of its own. */
  readonly #botRoles: TtlCache<string>;
  readonly #names: TtlCache<ReadonlyMap<string, string>>;

  constructor(rest: DiscordRest, log: Log, epochNow: () => number) {
    this.#rest = rest;
    this.#log = log;
    this.#botRoles = new TtlCache(REMEMBERED_MS, MAX_GUILDS, epochNow);
    this.#names = new TtlCache(REMEMBERED_MS, MAX_NAMED_GUILDS, epochNow);
  }

  /** The names of a server's channels and roles, by id; those that Discord does not tell are missing. Never throws. */
  async names(guildId: string): Promise<ReadonlyMap<string, string>> {
    const cached = this.#names.get(guildId);
    if (cached !== undefined) return cached;
    const paths = [Routes.guildChannels(guildId), Routes.guildRoles(guildId)] as const;
    const answers = await Promise.all(
      paths.map(async (path) => await this.#rest.get(path, `names ${guildId}`)),
    ).catch((error: unknown) => {
      this.#log.warn({ err: error, guildId }, 'discord_names_unreadable');
      return [];
    });
    const all = answers.flatMap((answer) => Named.safeParse(answer).data ?? []);
    const names = new Map(all.map(({ id, name }) => [id, name]));
    // Also after a failure: a busy server is not asked again for each message.
    this.#names.set(guildId, names);
    return names;
  }

  /** The role that Discord creates for a bot in each server; undefined for none, and while Discord is silent. Never throws. */
  async botRole(guildId: string, botId: string): Promise<string | undefined> {
    const cached = this.#botRoles.get(guildId);
    if (cached !== undefined) return cached || undefined;
    try {
      const answer = await this.#rest.get(Routes.guildRoles(guildId), `roles ${guildId}`);
      const roles = GuildRoles.safeParse(answer).data ?? [];
      const role = roles.find(({ tags }) => tags?.bot_id === botId)?.id;
      this.#botRoles.set(guildId, role ?? '');
      return role;
    } catch (error) {
      this.#log.warn({ err: error, guildId }, 'discord_roles_unreadable');
      // If a server refuses, do not ask it again for each message.
      if (error instanceof ChannelError && !error.retryable) this.#botRoles.set(guildId, '');
      return undefined;
    }
  }

  /** Ids of a person's roles; undefined if the person is not a member. Throws `ChannelError`. */
  async rolesOf(guildId: string, userId: string): Promise<string[] | undefined> {
    const answer = await this.#read(Routes.guildMember(guildId, userId), `member ${guildId}`);
    return Member.safeParse(answer).data?.roles;
  }

  /** Whether a person owns the server of a channel, or has Administrator or Manage Server there. Throws `ChannelError`. */
  async isAdmin(place: Place, userId: string): Promise<boolean> {
    const channelId = channelIdOf({ ...place, threadId: undefined });
    const guildId = readChannel(await this.#read(Routes.channel(channelId), 'channel'))?.guildId;
    if (guildId === undefined || !Snowflake.safeParse(userId).success) return false;
    const guild = Guild.safeParse(await this.#read(Routes.guild(guildId), `guild ${guildId}`)).data;
    const memberRoles = guild && (await this.rolesOf(guildId, userId));
    if (guild === undefined || memberRoles === undefined) return false;
    // Everyone has the role whose id is that of the server.
    const roles = guild.roles.filter(({ id }) => id === guildId || memberRoles.includes(id));
    const permissions = new PermissionsBitField(roles.map((role) => BigInt(role.permissions)));
    return guild.owner_id === userId || permissions.any(PermissionFlagsBits.ManageGuild);
  }

  /** Undefined for a server, channel or member that Discord does not show to this bot. */
  async #read(path: `/${string}`, bucket: string): Promise<unknown> {
    const { UnknownChannel, UnknownGuild, UnknownMember, MissingAccess } = RESTJSONErrorCodes;
    try {
      return await this.#rest.get(path, bucket);
    } catch (error) {
      const isHidden =
        error instanceof ChannelError &&
        hasCode(error.cause, UnknownChannel, UnknownGuild, UnknownMember, MissingAccess);
      if (isHidden) return undefined;
      throw error;
    }
  }
}

/** What a person belongs to, in the form in which access is granted to it. Pure. */
export function membershipsOf(guildId: string | undefined, roles: readonly string[] = []): Membership[] {
  if (guildId === undefined) return [];
  return [{ kind: 'guild', id: guildId }, ...roles.map((id) => ({ kind: 'role' as const, id }))];
}
