/** The definition of a route in the fake Discord's REST API. */
import type { DiscordPlatform } from './platform.ts';
import type { FakeFile } from './uploads.ts';

export interface Call {
  platform: DiscordPlatform;
  ids: string[];
  query: URLSearchParams;
  /** The received JSON; `body` is its fields if it is an object. */
  json: unknown;
  body: Record<string, unknown>;
  /** The files of the form, by number. */
  files: ReadonlyMap<string, FakeFile>;
  gatewayUrl: string;
  startsLeft: number;
  /** Connections that the bot should open, and how many may identify at once. */
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
