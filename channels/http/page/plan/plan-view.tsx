/** The plan of one turn in `element`, which is empty until there is one. */
import { signal } from '@preact/signals';
import { type JSX, render } from 'preact';
import type { AgentEvent } from '../../../../src/protocol/event.ts';
import type { Plan } from '../../../../src/protocol/agent/plan.ts';
import { advancePlan, type PlanEventView } from '../../../../src/protocol/isomorphic/plan-reducer.js';
import { h } from '../dom.ts';
import { say } from '../texts.ts';
import { type PlanHost, PlanPanel, Todos } from './plan-panel.tsx';

export class PlanView {
  readonly element = h('div', { class: 'plan-of-turn' });
  readonly #view = signal<PlanEventView | undefined>(undefined);
  #text: Element | undefined;
  /** Number of events that have changed it. */
  eventCount = 0;

  constructor(host: PlanHost) {
    const Shown = (): JSX.Element | null =>
      this.#view.value === undefined ? null : <PlanPanel host={host} view={this.#view.value} />;
    render(<Shown />, this.element);
  }

  /** The plan's id, once the plan is known. */
  get planId(): string | undefined {
    return this.#view.value?.plan.id;
  }

  /** Descriptions of the steps, to detect a todo list that repeats them. */
  get descriptions(): string[] {
    return this.#view.value?.plan.steps.map(({ description }) => description) ?? [];
  }

  apply(event: AgentEvent): void {
    const next = advancePlan(this.#view.value, event);
    if (next === this.#view.value || next === undefined) return;
    this.eventCount += 1;
    this.#show(next);
  }

  /** Shows the stored plan, unless events have already shown a newer one. */
  set(plan: Plan, isNewest: boolean): void {
    if (this.eventCount === 0 || isNewest) this.#show({ plan });
  }

  /** Shows this plan as the page's own change left it, unless that change or a later one is shown already. */
  setEdited(plan: Plan): void {
    const view = this.#view.value;
    if (view?.plan.id !== plan.id || (plan.version ?? 1) <= (view.plan.version ?? 1)) return;
    this.eventCount += 1;
    this.#show({ ...view, plan });
  }

  /** Shows the plan message until the plan itself is known. */
  setText(text: Element): void {
    if (this.#view.value !== undefined) return;
    this.#text?.remove();
    this.#text = h('section', { class: 'plan' }, h('p', { class: 'plan-title' }, say('page.plan')), text);
    this.element.append(this.#text);
  }

  #show(view: PlanEventView): void {
    this.#text?.remove();
    this.#view.value = view;
  }
}

export class TodoView {
  element = h('div', { class: 'plan-of-turn' });

  set(items: Parameters<typeof Todos>[0]['items'], planned: string[]): void {
    const same = items.length === planned.length && items.every(({ text }, n) => text === planned[n]);
    render(items.length === 0 || same ? null : <Todos items={items} />, this.element);
  }
}
