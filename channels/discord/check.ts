/** What `parley doctor` asks Discord about the bot: its token, the Message Content Intent, and the sessions left today. Changes nothing. */
import { Routes } from 'discord.js';
import { z } from 'zod';
import { findingsOn } from '../../src/protocol/channel-parts.ts';
import { toGatewayError } from '../../src/protocol/errors.ts';
import type { CheckContext, Finding } from '../../src/protocol/channel.ts';
import { isTextAllowed, readGateway } from './gateway/shard.ts';
import { DiscordRest } from './rest.ts';

const finding = findingsOn('Discord');
/** Fewer sessions left than this get a warning. */
const FEW_SESSIONS = 50;

const User = z.object({ username: z.string() });

/** `token` is secret. Never throws. */
export async function check(
  { token, apiRoot }: { token: string; apiRoot?: string | undefined },
  { signal }: CheckContext,
): Promise<Finding[]> {
  const rest = new DiscordRest(token, apiRoot, () => performance.now());
  try {
    const { username } = User.parse(await rest.get(Routes.user(), 'me', signal));
    const hasIntent = await isTextAllowed(rest, signal);
    const { limit } = await readGateway(rest, signal);
    return [
      finding('ok', `The token belongs to ${username}.`),
      intentFinding(hasIntent),
      ...(limit.remaining < FEW_SESSIONS ? [sessionsFinding(limit)] : []),
    ];
  } catch (error) {
    const { code, message } = toGatewayError(error);
    const remedy =
      code === 'unauthorized'
        ? 'set DISCORD_BOT_TOKEN to the token of the Developer Portal (Bot, Reset Token)'
        : 'check whether this machine can reach discord.com';
    const text = code === 'unavailable' ? 'Discord cannot be reached.' : message;
    return [finding('error', text, remedy)];
  }
}

function intentFinding(hasIntent: boolean): Finding {
  if (hasIntent) return finding('ok', 'The Message Content Intent is on.');
  return finding(
    'warning',
    'The Message Content Intent is off: in servers the bot reads only messages that mention it.',
    'turn it on in the Developer Portal (Bot, Privileged Gateway Intents), then restart',
  );
}

function sessionsFinding({ total, remaining }: { total: number; remaining: number }): Finding {
  return finding(
    'warning',
    `Of ${total} connections a day, ${remaining} are left: something reconnects again and again.`,
    'see the log; does another program use this token?',
  );
}
