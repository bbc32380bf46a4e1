/** The server of the fake Discord: its roles, and who its members are. */
import { threadOfGuildJson } from './json.ts';
import { type DiscordPlatform, type FakeChannel, Refusal } from './platform.ts';
import type { Call, Route } from './route.ts';

export const GUILD_ROUTES: Route[] = [
  { method: 'GET', path: '/guilds/:id', effect: guild },
  { method: 'GET', path: '/guilds/:id/roles', effect: (call) => guild(call).roles },
  { method: 'GET', path: '/guilds/:id/channels', effect: channelsOf },
  { method: 'GET', path: '/guilds/:id/members/:id', effect: member },
];

/** The servers that have channels, as GUILD_CREATE shows them; `tell` is called with each thread in them. */
export function guildsOf(
  { channels, guildId: own }: DiscordPlatform,
  tell: (thread: FakeChannel) => void,
): { id: string; threads: object[] }[] {
  const all = [...channels.values()];
  const ids = new Set([own, ...all.flatMap(({ guildId }) => guildId ?? [])]);
  const open = all.filter(({ type, archived }) => type === 11 && archived !== true);
  open.forEach(tell);
  return [...ids].map((id) => ({
    id,
    threads: open.filter(({ guildId }) => guildId === id).map(threadOfGuildJson),
  }));
}

function guild({ platform, ids: [guildId = ''] }: Call) {
  if (guildId !== platform.guildId) throw new Refusal(404, 10_004, 'Unknown Guild');
  const { botRoleId, bot } = platform;
  return {
    id: guildId,
    name: 'A server',
    owner_id: platform.ownerId,
    roles: [
      { id: guildId, name: '@everyone', managed: false, permissions: '1024' },
      { id: botRoleId, name: 'Parley', managed: true, tags: { bot_id: bot.id }, permissions: '1024' },
      ...platform.roles.map((role) => ({ ...role, managed: false })),
    ],
  };
}

/** Its channels without threads ("Get Guild Channels"). */
function channelsOf(call: Call): object[] {
  const { id: guildId } = guild(call);
  const all = [...call.platform.channels.values()];
  return all
    .filter((one) => one.guildId === guildId && one.parentId === undefined)
    .map(({ id, type, name = `channel-${id}` }) => ({ id, type, name, guild_id: guildId }));
}

function member({ platform, ids: [guildId = '', userId = ''] }: Call): object {
  if (guildId !== platform.guildId) throw new Refusal(404, 10_004, 'Unknown Guild');
  const found = platform.members.get(userId);
  if (found === undefined) throw new Refusal(404, 10_007, 'Unknown Member');
  return { user: { id: found.id, username: found.name.toLowerCase() }, roles: found.roles ?? [] };
}
