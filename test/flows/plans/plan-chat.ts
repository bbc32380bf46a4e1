/** A chat in which a plan runs gate by gate: every answer of the model and every run of a tool waits to be released. */
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { vi } from 'vitest';
import { z } from 'zod';
import { ToolError } from '../../../src/protocol/errors.ts';
import type { SessionKey } from '../../../src/protocol/message.ts';
import type { ExecutionMode } from '../../../src/protocol/agent/plan.ts';
import type { PlanRecord } from '../../../src/protocol/agent/plan-store.ts';
import { defineTool, type Tool } from '../../../src/protocol/agent/tool.ts';
import type { Reply } from '../../fakes/ollama/ollama.ts';
import { lastUserText } from '../../fakes/model/spoken-text.ts';
import { cardOf, readCard, type ReadCard } from '../../fakes/gateway/read-card.ts';
import { type GatewayFixture, WAIT } from '../setup.ts';

/** Something that waits to be released. */
interface Gate {
  what: string;
  release(): void;
}

/** What people see of one message. */
export interface SeenMessage {
  text: string;
  buttons: string[];
}

/** A chat on one platform, with a user in it who may write. */
export interface Participant {
  session: SessionKey;
  says(text: string): void;
  /** The bot's messages, oldest first. */
  seen(): SeenMessage[];
  /** Presses the newest button with that label; returns what the user who pressed reads. */
  press(label: string): Promise<string>;
}

/** The tool `work {name}`: waits at its gate, and fails as often as `fails` says. */
export class Workshop {
  readonly fails = new Map<string, number>();
  readonly gates: Gate[] = [];

  tool(): Tool {
    const parameters = z.strictObject({ name: z.string() });
    return defineTool({
      name: 'work',
      description: 'Does some work.',
      parameters,
      effect: 'unsafe',
      reach: () => 'session',
      risk: () => 'safe',
      results: 'operator',
      execute: async ({ name }: z.infer<typeof parameters>, { signal }) => {
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
        this.gates.push({ what: `work ${name}`, release: resolve });
        await promise;
        const left = this.fails.get(name) ?? 0;
        this.fails.set(name, left - 1);
        if (left > 0) throw new ToolError('failed', 'It did not work.');
        return { content: `${name} is done` };
      },
    });
  }
}

/** Writes the profile that plans and has the tool, and waits until the gateway has read it. Resets the workshop. */
export async function openWorkshop(fixture: GatewayFixture, shop: Workshop): Promise<void> {
  shop.gates.splice(0);
  shop.fails.clear();
  const folder = path.join(fixture.home, 'profiles', 'worker');
  await mkdir(folder, { recursive: true });
  const profile = { planningEnabled: true, enabledTools: ['work'] };
  await writeFile(path.join(folder, 'config.json'), JSON.stringify(profile));
  await vi.waitFor(async () => {
    const models = await (await fixture.call('/v1/models')).json();
    if (!JSON.stringify(models).includes('"worker"')) throw new Error('the profile is not read yet');
  }, WAIT);
}

/** One plan in a chat. `tag` is in everything that the model reads of it. */
export class PlanChat {
  readonly #fixture: GatewayFixture;
  readonly #shop: Workshop;
  readonly participant: Participant;
  readonly tag: string;
  /** The card at each gate, as people saw it, after it was found equal to the stored plan. */
  readonly cards: ReadCard[] = [];
  #calls = 0;
  #works = 0;

  constructor(fixture: GatewayFixture, shop: Workshop, participant: Participant, tag: string) {
    this.#fixture = fixture;
    this.#shop = shop;
    this.participant = participant;
    this.tag = tag;
  }

  /** Asks for the plan; its steps are two runs of `work`. `script` is what the model says from the first step on. */
  async begin(mode: ExecutionMode, script: readonly Reply[]): Promise<void> {
    const { ledger } = this.#fixture.store;
    await ledger.updateSession(this.participant.session, { profileId: 'worker', mode }, {});
    const opening = [
      { text: 'Two steps.\nREFLECT: no' },
      { text: 'Steps\n1. [TOOL: work] Wash\n2. [TOOL: work] Paint' },
    ];
    for (const reply of [...opening, ...script])
      this.#fixture.ollama.answer({ ...reply, hold: true }, { when: this.tag });
    this.participant.says(this.tag);
  }

  /** A call of `work` as the model makes it. */
  work(name = this.tag): Reply {
    return { toolCalls: [{ name: 'work', args: { name } }] };
  }

  /** The next thing that waits; undefined once nothing does and the turn is over or waits for users. */
  async gate(): Promise<Gate | undefined> {
    return await vi.waitFor(async () => {
      const record = await this.record();
      const turn = record && (await this.#fixture.store.ledger.turn(record.turnId));
      const works = this.#shop.gates.filter(({ what }) => what.includes(this.tag));
      const calls = this.#fixture.ollama.calls.filter(({ body }) => lastUserText(body).includes(this.tag));
      const work = works[this.#works];
      const call = calls[this.#calls];
      if (work !== undefined) this.#works += 1;
      else if (call !== undefined) this.#calls += 1;
      const gate = work ?? (call && { what: 'model', release: () => call.release() });
      if (gate !== undefined) return gate;
      if (turn?.state === 'done' || turn?.state === 'parked') return undefined;
      throw new Error('nothing waits yet');
    }, WAIT);
  }

  /**
   * Releases everything, gate by gate; at each the card has to match what is stored, and to have the note that `notes`
   * expects at the gate of that number. `until` stops before a gate.
   */
  async follow(
    until?: (gate: Gate) => boolean,
    notes: Readonly<Record<number, string>> = {},
  ): Promise<Gate | undefined> {
    for (;;) {
      const gate = await this.gate();
      if (gate === undefined || until?.(gate) === true) return gate;
      if ((await this.record()) !== undefined) this.cards.push(await this.settled(notes[this.cards.length]));
      gate.release();
    }
  }

  record(): Promise<PlanRecord | undefined> {
    return this.#fixture.store.plans.latestPlan(this.participant.session);
  }

  /** The card once it matches what is stored, and has the note that is expected. */
  async settled(expectedNote?: string): Promise<ReadCard> {
    return await vi.waitFor(async () => {
      const record = await this.record();
      if (record === undefined) throw new Error('there is no plan yet');
      const card = readCard(this.card().text);
      const { note, ...lasting } = card;
      if (expectedNote !== undefined) assert.equal(note, expectedNote);
      assert.deepEqual(lasting, cardOf(record.plan));
      return card;
    }, WAIT);
  }

  /** The message that is the plan's card; there is exactly one. */
  card(): SeenMessage {
    const cards = this.participant.seen().filter(({ text }) => text.startsWith('Plan: '));
    const [card] = cards;
    if (card === undefined || cards.length > 1) throw new Error(`${cards.length} cards are on screen`);
    return card;
  }

  /** Waits until a user's answer has woken the turn. */
  async awake(): Promise<void> {
    await vi.waitFor(async () => {
      const record = await this.record();
      const turn = record && (await this.#fixture.store.ledger.turn(record.turnId));
      assert.notEqual(turn?.state, 'parked');
    }, WAIT);
  }

  async shows(what: RegExp): Promise<void> {
    const all = (): string =>
      this.participant
        .seen()
        .map(({ text }) => text)
        .join('\n');
    await vi.waitFor(() => assert.match(all(), what), WAIT);
  }
}
