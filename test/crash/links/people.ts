/** Users whose chats share one conversation: a page session and chats on every platform, which they link and separate. */
import { setTimeout as pause } from 'node:timers/promises';
import type { ShownMessage } from '../judge/checker.ts';
import { type Scenario, TOKEN } from '../scenario.ts';
import { messageAt, type TextRef } from '../script.ts';
import { chatsOfPerson, type LinkedChat } from './chats.ts';
import type { Membership } from './judge.ts';
import { chatsOf } from './rows.ts';

const AGAIN_MS = 50;
const REQUEST_TIMEOUT_MS = 10_000;
/** A linking step without effect within this time is restarted, in milliseconds. */
const STEP_MS = 6_000;
/** Linking that does not succeed within this time is given up: a violation. */
const GIVE_UP_MS = 90_000;

/** One user and their chats. */
export class Ring {
  readonly session: `http:${string}`;
  /** On the platforms, in addition to the page. */
  readonly chats: readonly LinkedChat[];
  readonly said: (TextRef & { address: string })[] = [];
  readonly refused: string[] = [];
  readonly members: Membership[] = [];
  readonly #scenario: Scenario;
  readonly #seed: number;
  readonly #number: number;
  #count = 0;
  #posting: Promise<void> = Promise.resolve();
  #toggling: Promise<void> = Promise.resolve();
  #working = 0;
  #closed = false;

  constructor(scenario: Scenario, seed: number, number: number) {
    this.#scenario = scenario;
    this.#seed = seed;
    this.#number = number;
    this.session = `http:r${number}`;
    this.chats = chatsOfPerson(scenario, number);
  }

  /** True when everything is acknowledged and no chat is being linked or separated. */
  get quiet(): boolean {
    return this.#working === 0;
  }

  /** Sends the next message in one of the chats; `at` 0 is the page. */
  say(at: number): void {
    const said = messageAt(this.#seed, this.#number, this.#count, [[]]);
    this.#count += 1;
    const chat = this.chats[at - 1];
    this.said.push({ ...said, address: chat?.address ?? this.session });
    if (chat !== undefined) chat.write(said.text);
    else this.#posting = this.#track(this.#posting.then(() => this.#post(said)));
  }

  /** Links an unlinked chat, or separates a linked one; one after another. */
  toggle(at: number): void {
    const chat = this.chats[at];
    if (chat !== undefined) this.#toggling = this.#track(this.#toggling.then(() => this.#toggle(chat)));
  }

  /** Makes no further attempts. */
  close(): void {
    this.#closed = true;
  }

  screens(): [string, ShownMessage[]][] {
    return this.chats.map(({ address, screen }) => [address, screen()]);
  }

  #track(work: Promise<void>): Promise<void> {
    this.#working += 1;
    return work.finally(() => (this.#working -= 1));
  }

  async #post(said: TextRef): Promise<void> {
    const key = said.id.replace('#', '-');
    while (!this.#closed) {
      const answer = await this.#call(
        'POST',
        `/v1/sessions/${this.session}/messages`,
        { content: said.text },
        key,
      );
      if (answer !== undefined && answer.status < 500) {
        if (answer.status >= 400) this.refused.push(`${said.id}: ${answer.status}`);
        return;
      }
      await pause(AGAIN_MS);
    }
  }

  async #toggle(chat: LinkedChat): Promise<void> {
    const end = Date.now() + GIVE_UP_MS;
    const wasIn = await this.#isIn(chat);
    if (wasIn) for (const member of this.#current(chat)) member.until = Date.now();
    while (!this.#closed && (await this.#isIn(chat)) === wasIn) {
      if (Date.now() > end) {
        this.refused.push(`${chat.address} could not be ${wasIn ? 'separated' : 'linked'}`);
        return;
      }
      if (wasIn) await this.#separate(chat);
      else await this.#link(chat);
    }
    if (wasIn || this.#closed) return;
    const from = Date.now();
    for (const address of [this.session, chat.address])
      if (this.#current({ address }).length === 0)
        this.members.push({ address, session: this.session, from, until: Infinity });
  }

  #current({ address }: Pick<LinkedChat, 'address'>): Membership[] {
    return this.members.filter((member) => member.address === address && member.until === Infinity);
  }

  async #separate(chat: LinkedChat): Promise<void> {
    chat.command('unlink');
    await this.#until(async () => !(await this.#isIn(chat)));
  }

  /** The page shows the code, the chat enters it, both agree; a kill may interrupt any of these. */
  async #link(chat: LinkedChat): Promise<void> {
    const given = await this.#call('POST', `/v1/sessions/${this.session}/links`);
    const { code } = (given?.body ?? {}) as { code?: string };
    if (code === undefined) {
      await pause(AGAIN_MS);
      return;
    }
    chat.command(`link ${code}`);
    let id: string | undefined;
    await this.#until(async () => {
      const found = await this.#call('GET', `/v1/sessions/${this.session}/surfaces`);
      id = ((found?.body ?? {}) as { asks?: { id: string } | null }).asks?.id;
      return id !== undefined;
    });
    if (id === undefined) return;
    await this.#call('POST', `/v1/links/${id}`, { session: this.session, agree: true });
    chat.command('link yes');
    await this.#until(() => this.#isIn(chat));
  }

  async #until(holds: () => Promise<boolean>): Promise<void> {
    const end = Date.now() + STEP_MS;
    while (!this.#closed && Date.now() < end && !(await holds())) await pause(AGAIN_MS);
  }

  async #isIn({ address }: Pick<LinkedChat, 'address'>): Promise<boolean> {
    for (;;) {
      try {
        return (await this.#scenario.read((sql) => chatsOf(sql, this.session))).includes(address);
      } catch (error) {
        // The embedded database dies with its gateway.
        if (this.#closed) throw error;
        await pause(AGAIN_MS);
      }
    }
  }

  async #call(
    method: string,
    path: string,
    json?: object,
    key?: string,
  ): Promise<{ status: number; body: unknown } | undefined> {
    try {
      // Any live one: with two of them, either answers for both.
      const living = this.#scenario.gateways.filter(({ running }) => running);
      const gateway = living[this.#count % Math.max(1, living.length)] ?? this.#scenario.gateways[0];
      const url = await gateway?.url();
      const response = await fetch(`${url}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${TOKEN}`,
          'content-type': 'application/json',
          ...(key !== undefined && { 'idempotency-key': key }),
        },
        ...(json !== undefined && { body: JSON.stringify(json) }),
        signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      });
      return { status: response.status, body: await response.json() };
    } catch {
      // The gateway died during the request, or is not up yet: the caller retries.
      return undefined;
    }
  }
}
