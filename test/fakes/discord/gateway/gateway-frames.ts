/** The frames of the fake Discord's gateway, as strict as the platform's. */
import { type RawData, WebSocket } from 'ws';
import { z } from 'zod';

export const INTENT = {
  guilds: 1 << 0,
  guildMessages: 1 << 9,
  guildMessageReactions: 1 << 10,
  directMessages: 1 << 12,
  directMessageReactions: 1 << 13,
  messageContent: 1 << 15,
};
const MAX_PAYLOAD_BYTES = 4_096;

const Frame = z.object({ op: z.number(), d: z.unknown() });
export const Identify = z.object({
  token: z.string(),
  intents: z.number(),
  shard: z.tuple([z.int().min(0), z.int().min(1)]).default([0, 1]),
  properties: z.object({ os: z.string(), browser: z.string(), device: z.string() }),
});
export const Resume = z.object({ token: z.string(), session_id: z.string(), seq: z.number().nullable() });

export interface GatewaySettings {
  token: string;
  heartbeatMs: number;
  /** Minimum time between two identifies; sooner gets an invalid session. */
  identifySpacingMs: number;
  now(): number;
  /** The READY payload without session id and resume address. */
  ready(): object;
  /** The servers of the bot, as GUILD_CREATE shows them. */
  guilds(): { id: string }[];
  url(): string;
}

/** The connection, out of so many, that receives the events of a server. */
export function shardOf(guildId: string, count: number): number {
  return Number((BigInt(guildId) >> 22n) % BigInt(count));
}

export function send(socket: WebSocket, frame: object): void {
  if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(frame));
}

export function readFrame(data: RawData): z.infer<typeof Frame> | undefined {
  const bytes = Array.isArray(data) ? Buffer.concat(data) : Buffer.from(new Uint8Array(data));
  if (bytes.length > MAX_PAYLOAD_BYTES) return undefined;
  try {
    return Frame.parse(JSON.parse(bytes.toString('utf8')));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof z.ZodError) return undefined;
    throw error;
  }
}
