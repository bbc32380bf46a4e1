/** What a route of the fake Discord's REST API is. */
import type { DiscordPlatform } from './platform.ts';
import type { FakeFile } from './uploads.ts';

export interface Call {
  platform: DiscordPlatform;
  ids: string[];
  query: URLSearchParams;
  /** The JSON that came; `body` are its fields when it is an object. */
  json: unknown;
  body: Record<string, unknown>;
  /** The files of the form, by their number. */
  files: ReadonlyMap<string, FakeFile>;
  gatewayUrl: string;
  startsLeft: number;
  /** Connections that the bot is to have, and how many may identify at a time. */
  shards: number;
  maxConcurrency: number;
  applicationFlags: number;
}

/** A route's answer: JSON with status 200, or nothing with 204. */
type Effect = (call: Call) => object | undefined;

export interface Route {
  method: string;
  /** `:id` stands for a snowflake, `:token` for an interaction's token. */
  path: string;
  /** Calls with an interaction token in their path need no bot token. */
  open?: boolean;
  effect: Effect;
}
