/** The role that Discord creates for a bot in each server: a mention of it is a mention of the bot. */
import { z } from 'zod';
import { ChannelError } from '../../../src/protocol/errors.ts';
import type { Log } from '../../../src/protocol/log.ts';
import { Recent } from '../../../src/lib/recent.ts';
import { Snowflake } from '../receiving/quoted.ts';
import type { DiscordRest } from '../rest/rest.ts';

/**
 * Maximum number of servers whose role is remembered, and for how long in milliseconds: the bot gets a new one when
 * it is invited again.
 */
export const MAX_GUILDS = 2_500;
const REMEMBERED_MS = 3_600_000;

const Roles = z.array(
  z.object({ id: Snowflake, tags: z.object({ bot_id: Snowflake.optional() }).optional() }),
);

export class BotRoles {
  readonly #parts: { rest: Pick<DiscordRest, 'call'>; log: Log; epochNow: () => number };
  /** `''` for a server in which the bot has no role of its own. */
  readonly #known: Recent<string>;

  constructor(parts: { rest: Pick<DiscordRest, 'call'>; log: Log; epochNow: () => number }) {
    this.#parts = parts;
    this.#known = new Recent(REMEMBERED_MS, MAX_GUILDS, parts.epochNow);
  }

  /**
   * The bot's role in a server (`GET /guilds/{id}/roles`); undefined for none, and while Discord does not answer.
   * Never throws.
   */
  async of(guildId: string, botId: string): Promise<string | undefined> {
    const known = this.#known.get(guildId);
    if (known !== undefined) return known || undefined;
    const { rest, log } = this.#parts;
    try {
      const answer = await rest.call({
        method: 'get',
        path: `/guilds/${guildId}/roles`,
        bucket: `roles ${guildId}`,
      });
      const roles = Roles.safeParse(answer).data ?? [];
      const own = roles.find(({ tags }) => tags?.bot_id === botId)?.id;
      this.#known.set(guildId, own ?? '');
      return own;
    } catch (error) {
      log.warn({ err: error, guildId }, 'discord_roles_unreadable');
      // If a server refuses, do not ask it again for each message.
      if (error instanceof ChannelError && !error.retryable) this.#known.set(guildId, '');
      return undefined;
    }
  }
}
