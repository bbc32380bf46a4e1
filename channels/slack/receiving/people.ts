/**
 * Names and languages of people (`users.info`), cached for a while: they are for display, and nothing waits long for
 * them.
 */
import { z } from 'zod';
import type { Log } from '../../../src/protocol/log.ts';
import { Recent } from '../../../src/lib/recent.ts';
import { USER_ID } from '../ids.ts';
import type { Names } from '../inbound.ts';
import type { SlackApi } from '../web-api.ts';

/** How long a name is cached, in milliseconds, and how many are. */
const KEPT_MS = 3_600_000;
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

export interface PeopleParts {
  api: Pick<SlackApi, 'call'>;
  log: Log;
  epochNow: () => number;
}

export class People {
  readonly #api: Pick<SlackApi, 'call'>;
  readonly #log: Log;
  readonly #names: Recent<string>;
  readonly #locales: Recent<string>;
  readonly #missing: Recent<true>;
  readonly #asking = new Map<string, Promise<void>>();

  constructor({ api, log, epochNow }: PeopleParts) {
    this.#api = api;
    this.#log = log;
    this.#names = new Recent(KEPT_MS, MAX_NAMES, epochNow);
    this.#locales = new Recent(KEPT_MS, MAX_NAMES, epochNow);
    this.#missing = new Recent(MISSING_MS, MAX_NAMES, epochNow);
  }

  /** The names that are known now or soon. Never throws. */
  async names(ids: readonly string[]): Promise<Names> {
    const unknown = ids.filter((id) => USER_ID.test(id) && this.#isUnknown(id)).slice(0, MAX_ASKED);
    if (unknown.length > 0) await withinTime(Promise.all(unknown.map((id) => this.#ask(id))));
    return new Map(
      ids.map((id) => [id, this.#names.get(id) ?? '']).filter(([, name]) => name !== '') as [
        string,
        string,
      ][],
    );
  }

  /** The language of a person whose name was read, in Slack's form: `de-DE`. */
  languageOf(id: string): string | undefined {
    return this.#locales.get(id);
  }

  #isUnknown(id: string): boolean {
    return this.#names.get(id) === undefined && this.#missing.get(id) === undefined;
  }

  async #ask(user: string): Promise<void> {
    const asking = this.#asking.get(user) ?? this.#read(user).finally(() => this.#asking.delete(user));
    this.#asking.set(user, asking);
    await asking;
  }

  async #read(user: string): Promise<void> {
    try {
      const { user: info } = Info.parse(await this.#api.call('users.info', { user, include_locale: true }));
      const { display_name: shown, real_name: real } = info.profile ?? {};
      const name = shown || real || info.real_name || info.name || '';
      if (info.locale !== undefined) this.#locales.set(user, info.locale);
      if (name !== '') this.#names.set(user, name);
      else this.#missing.set(user, true);
    } catch (error) {
      this.#missing.set(user, true);
      this.#log.debug({ err: error }, 'slack_name_unknown');
    }
  }
}

async function withinTime(work: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, WAIT_MS);
  await Promise.race([work, promise]);
  clearTimeout(timer);
}
