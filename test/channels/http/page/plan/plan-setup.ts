/**
 * The whole gateway with a profile that plans, a model that waits at every call until the test releases it, and every
 * stored version of each plan.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, vi } from 'vitest';
import type { ExecutionMode, Plan } from '../../../../../src/protocol/agent/plan.ts';
import type { FakeCall, Reply } from '../../../../fakes/ollama/ollama.ts';
import { type GatewayFixture, openGatewayFixture, OWNER } from '../../../../flows/setup.ts';
import { WAIT } from '../browser/browser.ts';
import type { Tab } from '../browser/describe-page.ts';
import { panelOf, readPanel, recordedPanels, recordPanels, type ShownPlan } from './panel.ts';

const ANALYSIS = 'Three steps.\nREFLECT: no';
const PLAN = 'Steps\n1. [SELF] Sift the flour\n2. [SELF] Knead the dough\n3. [SELF] Bake the bread';

/** A gateway whose profile `worker` plans. A trigger keeps every version of every plan in the table `plan_version`. */
export async function openPlanGateway(): Promise<GatewayFixture> {
  const gateway = await openGatewayFixture();
  const folder = path.join(gateway.home, 'profiles', 'worker');
  await mkdir(folder, { recursive: true });
  const profile = { planningEnabled: true, enabledTools: ['list_dir'] };
  await writeFile(path.join(folder, 'config.json'), JSON.stringify(profile));
  await vi.waitFor(async () => {
    const models = await (await gateway.call('/v1/models')).text();
    if (!models.includes('"worker"')) throw new Error('the profile is not read yet');
  }, WAIT);
  await gateway.sql.unsafe(`
    create table plan_version (n serial, id text, doc jsonb);
    create function keep_version() returns trigger language plpgsql as $$
      begin
        insert into plan_version (id, doc) values (new.id, new.doc);
        return new;
      end $$;
    create trigger keep_version after insert or update on plan for each row execute function keep_version();
  `);
  return gateway;
}

/** One planned turn on the page. The model answers only when it is released, so nothing changes while it is being called. */
export class PlannedTurn {
  readonly #gateway: GatewayFixture;
  readonly #tab: Tab;
  readonly #tag: string;
  readonly #seen: ShownPlan[] = [];
  #calls = 0;

  private constructor(gateway: GatewayFixture, tab: Tab, tag: string) {
    this.#gateway = gateway;
    this.#tab = tab;
    this.#tag = tag;
  }

  /** Posts `bread, <tag>` and opens the page before there is a plan; returns at the first model call after planning. */
  static async begin(
    gateway: GatewayFixture,
    tab: Tab,
    tag: string,
    mode: ExecutionMode,
    ...answers: (string | Reply)[]
  ): Promise<PlannedTurn> {
    const turn = new PlannedTurn(gateway, tab, tag);
    for (const answer of [ANALYSIS, PLAN, ...answers]) {
      const reply = typeof answer === 'string' ? { text: answer } : answer;
      gateway.ollama.answer({ ...reply, hold: true }, { when: (body) => turn.#isOwn(body) });
    }
    const json = { content: `bread, ${tag}`, mode, model: 'worker' };
    const posted = await gateway.call(`/v1/sessions/http:${tag}/messages`, { json });
    if (posted.status !== 202) throw new Error(await posted.text());
    const analysis = await turn.#awaitCall();
    await tab.open(`${gateway.gateway.url}/#http:${tag}`, { token: OWNER });
    await tab.page.locator('.message-text', { hasText: `bread, ${tag}` }).waitFor();
    await recordPanels(tab.page);
    analysis.release();
    (await turn.#awaitCall()).release();
    return turn;
  }

  /** Waits for the model's next call and until the panel shows the stored plan; returns both. */
  async nextCall(): Promise<{ call: FakeCall; plan: Plan }> {
    const call = await this.#awaitCall();
    return { call, plan: await this.shownPlan() };
  }

  /** Releases the next `calls` calls, comparing the panel before each. */
  async releaseCalls(calls: number): Promise<void> {
    for (let n = 0; n < calls; n += 1) (await this.nextCall()).call.release();
  }

  /** Waits until the panel shows the stored plan, and returns the plan. */
  async shownPlan(): Promise<Plan> {
    return await vi.waitFor(async () => {
      const plan = await this.stored();
      expectSame([await readPanel(this.#tab.page)], [plan]);
      return plan;
    }, WAIT);
  }

  /** The newest plan of the session. Throws while there is none. */
  async stored(): Promise<Plan> {
    const record = await this.#gateway.store.plans.latestPlan(`http:${this.#tag}`);
    if (record === undefined) throw new Error('there is no plan yet');
    return record.plan;
  }

  /** Reloads the page, which must show the same. */
  async reload(): Promise<void> {
    this.#seen.push(...(await recordedPanels(this.#tab.page)));
    await this.#tab.page.reload();
    await this.shownPlan();
    await recordPanels(this.#tab.page);
  }

  /** Waits for the end of the turn. The panel must have shown every stored version of the plan in order, and nothing else. */
  async finish(): Promise<Plan> {
    await this.#tab.page.locator('.turn-foot time').waitFor();
    const plan = await this.shownPlan();
    const versions = await this.#gateway.sql<{ doc: Plan }[]>`
      select doc from plan_version where id = ${plan.id} order by n`;
    const seen = [...this.#seen, ...(await recordedPanels(this.#tab.page))];
    expectSame(
      seen,
      versions.map(({ doc }) => doc),
    );
    await this.#tab.page.reload();
    return await this.shownPlan();
  }

  async #awaitCall(): Promise<FakeCall> {
    const nth = this.#calls;
    this.#calls += 1;
    return await vi.waitFor(() => {
      const call = this.#gateway.ollama.calls.filter(({ body }) => this.#isOwn(body))[nth];
      if (call === undefined) throw new Error(`the model was not called ${nth + 1} times`);
      return call;
    }, WAIT);
  }

  /** True for a model call of this turn: its message is in each of them. */
  #isOwn(body: FakeCall['body']): boolean {
    return JSON.stringify(body).includes(`bread, ${this.#tag}`);
  }
}

/** Fails unless the panels match these plans, in order. */
function expectSame(seen: readonly ShownPlan[], plans: readonly Plan[]): void {
  expect(withoutRepeats(seen)).toEqual(withoutRepeats(plans.map(panelOf)));
}

function withoutRepeats(shown: readonly ShownPlan[]): ShownPlan[] {
  return shown.filter((one, n) => JSON.stringify(one) !== JSON.stringify(shown[n - 1]));
}
