/** Settings under test: the given ones, until the test changes them as a file would. */
import type { ApplySettings, Settings } from '../../src/protocol/settings.ts';

export class FakeSettings<Values> implements Settings<Values> {
  readonly #participants: Parameters<Settings<Values>['subscribe']>[0][] = [];
  #values: Values;

  constructor(values: Values) {
    this.#values = values;
  }

  current(): Values {
    return this.#values;
  }

  subscribe(prepare: Parameters<Settings<Values>['subscribe']>[0]): void {
    this.#participants.push(prepare);
  }

  /** Every participant prepares, then everything applies. */
  async change(next: Values): Promise<void> {
    const applies: ApplySettings[] = [];
    for (const prepare of this.#participants) applies.push(await prepare(next));
    this.#values = next;
    for (const apply of applies) apply();
  }
}
