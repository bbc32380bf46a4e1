/** The users of a crash run: each session sends one message after another, and retries until it is acknowledged. */
import { setTimeout as pause } from 'node:timers/promises';
import type { FakeDiscord } from '../fakes/discord/discord.ts';
import type { FakeHomeserver } from '../fakes/matrix/homeserver.ts';
import type { FakeSlack } from '../fakes/slack/slack.ts';
import type { FakeTelegram } from '../fakes/telegram/telegram.ts';
import type { Place } from './places.ts';
import { messageAt, type Round, type TextRef } from './script.ts';

/** Pause before an unacknowledged message is sent again, in milliseconds. */
const AGAIN_MS = 40;
/** A request without an answer for this long is considered lost. */
const REQUEST_TIMEOUT_MS = 10_000;

export interface PeopleOptions {
  seed: number;
  places: readonly Place[];
  /** How a third of the questions use tools; default: with every effect. */
  tools?: readonly Round[][] | undefined;
  token: string;
  telegram: FakeTelegram;
  discord: FakeDiscord;
  slack: FakeSlack;
  matrix: FakeHomeserver;
  /** Where to send now: with two gateways, either of them. */
  url: () => Promise<string>;
}

/** All users who write. */
export class People {
  /** Sent and acknowledged, in sending order. On the platforms, sending is enough: they keep it. */
  readonly accepted: TextRef[] = [];
  /** Answers that no retry can change. */
  readonly refused: string[] = [];
  readonly #options: PeopleOptions;
  readonly #mayWrite: number[];
  readonly #written: number[];
  #wake = Promise.withResolvers<void>();
  #unacknowledged = 0;
  readonly #writing: Promise<void>[];
  #closed = false;

  constructor(options: PeopleOptions) {
    this.#options = options;
    this.#mayWrite = options.places.map(() => 0);
    this.#written = options.places.map(() => 0);
    this.#writing = options.places
      .filter(({ channel }) => channel === 'http')
      .map((place) => this.#write(place));
  }

  /** Messages handed to a channel that has not answered yet, HTTP and Telegram together. */
  get unacknowledged(): number {
    return this.#unacknowledged + this.#options.telegram.updates.unconfirmed;
  }

  /** True when everything allowed is sent and acknowledged. */
  get quiet(): boolean {
    return this.unacknowledged === 0 && this.#mayWrite.every((may, at) => may === this.#written[at]);
  }

  /** Lets every session send `count` more messages. */
  release(count: number): void {
    for (const place of this.#options.places) {
      this.#mayWrite[place.session] = (this.#mayWrite[place.session] ?? 0) + count;
      if (place.channel !== 'http') this.#sayOnPlatform(place);
    }
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  }

  /** No one writes anymore. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#wake.resolve();
    await Promise.all(this.#writing);
  }

  #next(session: number): TextRef | undefined {
    const index = this.#written[session] ?? 0;
    if (index >= (this.#mayWrite[session] ?? 0)) return undefined;
    return messageAt(this.#options.seed, session, index, this.#options.tools);
  }

  /** A different user each time: the limit of messages per user is not tested here. */
  #sayOnPlatform({ session, channel, chatId, threadId }: Place): void {
    const { telegram, discord, slack, matrix } = this.#options;
    for (let said = this.#next(session); said !== undefined; said = this.#next(session)) {
      if (channel === 'telegram')
        telegram.says(chatId, said.text, String(1_000_000 + session * 10_000 + said.index));
      else if (channel === 'slack')
        slack.says(slack.workspace.chat(chatId), said.text, slack.workspace.person(`Person ${said.id}`), {
          ...(threadId !== undefined && { threadTs: threadId }),
        });
      else if (channel === 'matrix')
        matrix.says(matrix.rooms.find(chatId), said.text, matrix.rooms.person(`Person ${said.id}`));
      else discord.says(discord.platform.channel(chatId), said.text, discord.person(`Person ${said.id}`));
      this.#accept(session, said);
    }
  }

  #accept(session: number, said: TextRef): void {
    this.accepted.push(said);
    this.#written[session] = said.index + 1;
  }

  async #write(place: Place): Promise<void> {
    while (!this.#closed) {
      const said = this.#next(place.session);
      if (said === undefined) {
        await this.#wake.promise;
        continue;
      }
      this.#unacknowledged += 1;
      while (!this.#closed && !(await this.#post(place, said))) await pause(AGAIN_MS);
      this.#unacknowledged -= 1;
      if (!this.#closed) this.#accept(place.session, said);
    }
  }

  /** True when the message does not need to be repeated. */
  async #post({ key }: Place, said: TextRef): Promise<boolean> {
    const { token, url } = this.#options;
    try {
      const response = await fetch(`${await url()}/v1/sessions/${key}/messages`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          'idempotency-key': said.id.replace('#', '-'),
        },
        body: JSON.stringify({ content: said.text }),
        signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      });
      const answer = await response.text();
      if (response.status < 400) return true;
      if (response.status >= 500) return false;
      this.refused.push(`${said.id}: ${response.status} ${answer}`);
      return true;
    } catch {
      // The gateway died during the request, or is not up yet: that is what the repeat is for.
      return false;
    }
  }
}
