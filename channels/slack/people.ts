/** People (`users.info`) and channels (`conversations.info`): names and languages, cached for a while; and who administers a chat. */
import { z } from 'zod';
import type { Log } from '../../src/protocol/log.ts';
import { waitAtMost } from '../../src/lib/async/sleep.ts';
import { TtlCache } from '../../src/lib/ttl-cache.ts';
import { USER_ID } from './events.ts';
import type { Names } from './inbound.ts';
import type { SlackApi } from './web-api.ts';
import { channelUnavailable } from '../../src/protocol/errors.ts';
import { codeOf } from './errors.ts';

/** How long a name is cached, in milliseconds, and how many are. */
const CACHED_MS = 3_600_000;
export const MAX_NAMES = 5_000;
/** A name that could not be read is requested again after this time, in milliseconds. */
const MISSING_MS = 60_000;
/** Maximum number of names that one message waits for; a text that mentions more shows the ids of the others. */
export const MAX_ASKED = 10;
/** Longest wait for all of them, in milliseconds. */
const WAIT_MS = 1_500;

const Info = z.object({
  user: z.object({
    name: z.string().optional(),
    real_name: z.string().optional(),
    locale: z.string().optional(),
    profile: z.object({ display_name: z.string().optional(), real_name: z.string().optional() }).optional(),
  }),
});

/** `conversations.info`: `creator` is absent for chats that nobody created. */
const Conversation = z.object({
  channel: z.object({
    creator: z.string().optional(),
    name: z.string().optional(),
    is_mpim: z.boolean().optional(),
  }),
});

export class People {
  readonly #api: SlackApi;
  readonly #log: Log;
  readonly #names: TtlCache<string>;
  readonly #locales: TtlCache<string>;
  readonly #missing: TtlCache<true>;
  readonly #requests = new Map<string, Promise<void>>();

  constructor(api: SlackApi, log: Log, epochNow: () => number) {
    this.#api = api;
    this.#log = log;
    this.#names = new TtlCache(CACHED_MS, MAX_NAMES, epochNow);
    this.#locales = new TtlCache(CACHED_MS, MAX_NAMES, epochNow);
    this.#missing = new TtlCache(MISSING_MS, MAX_NAMES, epochNow);
  }

  /** The names that are known now or soon. Never throws. */
  async names(ids: readonly string[]): Promise<Names> {
    const unknown = ids.filter((id) => USER_ID.test(id) && this.#isUnknown(id)).slice(0, MAX_ASKED);
    if (unknown.length > 0) await waitAtMost(WAIT_MS, Promise.all(unknown.map((id) => this.#ask(id))));
    const names = new Map<string, string>();
    for (const id of ids) {
      const name = this.#names.get(id) ?? '';
      if (name !== '') names.set(id, name);
    }
    return names;
  }

  /** The name of a channel without its #, if it is known now or soon; undefined for other chats. Never throws. */
  async channelName(id: string): Promise<string | undefined> {
    if (this.#isUnknown(id)) await waitAtMost(WAIT_MS, this.#ask(id));
    return this.#names.get(id);
  }

  /** The language of a person whose name was read, in Slack's form: `de-DE`. */
  languageOf(id: string): string | undefined {
    return this.#locales.get(id);
  }

  #isUnknown(id: string): boolean {
    return this.#names.get(id) === undefined && this.#missing.get(id) === undefined;
  }

  async #ask(id: string): Promise<void> {
    const read = () => (USER_ID.test(id) ? this.#read(id) : this.#readChannel(id));
    const request = this.#requests.get(id) ?? read().finally(() => this.#requests.delete(id));
    this.#requests.set(id, request);
    await request;
  }

  async #readChannel(channel: string): Promise<void> {
    try {
      const { name = '', is_mpim: isUnnamed } = Conversation.parse(
        await this.#api.call('conversations.info', { channel }),
      ).channel;
      // Slack makes a name of the members for people who write to several at once.
      if (name !== '' && isUnnamed !== true) this.#names.set(channel, name);
      else this.#missing.set(channel, true);
    } catch (error) {
      this.#missing.set(channel, true);
      this.#log.debug({ err: error }, 'slack_name_unknown');
    }
  }

  async #read(user: string): Promise<void> {
    try {
      const { user: info } = Info.parse(await this.#api.call('users.info', { user, include_locale: true }));
      const { display_name: displayName, real_name: realName } = info.profile ?? {};
      const name = displayName || realName || info.real_name || info.name || '';
      if (info.locale !== undefined) this.#locales.set(user, info.locale);
      if (name !== '') this.#names.set(user, name);
      else this.#missing.set(user, true);
    } catch (error) {
      this.#missing.set(user, true);
      this.#log.debug({ err: error }, 'slack_name_unknown');
    }
  }
}

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

type Person = z.infer<typeof Person>['user'];

/** Whether a person administers the bot's workspace (`teamId`), or created the chat. Throws `ChannelError`. */
export async function isAdministrator(
  api: SlackApi,
  chatId: string,
  userId: string,
  teamId: string,
): Promise<boolean> {
  if (!USER_ID.test(userId)) return false;
  const person = await personOf(api, userId);
  if (person === undefined || !belongsTo(person, teamId)) return false;
  if (person.is_admin === true || person.is_owner === true) return true;
  const answer = Conversation.safeParse(await api.call('conversations.info', { channel: chatId }));
  if (!answer.success) throw unreadable();
  return answer.data.channel.creator === userId;
}

/** Undefined for somebody whom Slack does not know. */
async function personOf(api: SlackApi, user: string): Promise<Person | undefined> {
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
