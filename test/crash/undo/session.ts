/** A session of a run of undos: its turns, its files on the disk, and what a hand changes there. */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Scenario, TOKEN } from '../scenario.ts';

/** Contents by path. */
export type Files = Readonly<Record<string, string>>;

export interface State {
  files: Files;
  /** The todo list and the scratchpad, as text. */
  notes: string;
}

const NAMES = Array.from({ length: 14 }, (_, at) => `file-${at}.txt`);
/** Longest wait for an answer or an end, in milliseconds. */
const LONGEST_MS = 90_000;

export class UndoSession {
  readonly key: string;
  /** Undos of a turn that was undone before and went back again. */
  readonly doubled: string[] = [];
  readonly #scenario: Scenario;
  readonly #id: string;
  readonly #random: () => number;
  #folder = '';

  constructor(scenario: Scenario, id: string, random: () => number) {
    this.#scenario = scenario;
    this.#id = id;
    this.#random = random;
    this.key = `http:${id}`;
  }

  /** The first turn, after which its folder is known. */
  async begin(): Promise<void> {
    await this.work(-1);
    await this.idle();
    const folder = await this.#scenario.read(async (sql) => {
      const [row] = await sql<{ folder: string }[]>`select folder from session where key = ${this.key}`;
      return row?.folder ?? '';
    });
    this.#folder = path.join(this.#scenario.gateways[0]?.home ?? '', 'workspace', 'sessions', folder);
  }

  /** Begins a turn that writes files and notes, in two answers of the model; returns its id. */
  async work(round: number): Promise<string> {
    const content = `work ${this.#id} ${round}`;
    for (let nth = 0; nth < 2; nth += 1) {
      const names = NAMES.filter(() => this.#random() < 0.6);
      const writes = names.map((name) => ({
        name: 'write_file',
        args: { path: name, content: `${this.#id} ${round} ${nth} ${name}` },
      }));
      const notes = [
        { name: 'todo', args: { action: 'replace', items: [{ text: `todo ${round} ${nth}` }] } },
        { name: 'scratchpad', args: { action: 'set', name: `note ${round % 3}`, text: `${round} ${nth}` } },
      ];
      this.#scenario.ollama.answer({ toolCalls: [...writes, ...notes] }, { when: content });
    }
    const headers = { 'idempotency-key': `${this.#id}-${round}` };
    const { turnId }: { turnId: string } = await this.#call(`/messages`, {
      method: 'POST',
      json: { content },
      headers,
    });
    return turnId;
  }

  /** Undoes a turn, however often the gateway dies, and then once more. */
  async undo(turnId: string): Promise<void> {
    const first = await this.#call(`/undo?turn=${turnId}`, { method: 'POST' });
    const before = JSON.stringify(await this.#files());
    const again = await this.#call(`/undo?turn=${turnId}`, { method: 'POST' });
    if (JSON.stringify(again) !== JSON.stringify(first) || JSON.stringify(await this.#files()) !== before)
      this.doubled.push(`${this.key} ${turnId}`);
  }

  /** Changes some of the files that are there; returns them. */
  async changeByHand(): Promise<Files> {
    const files = Object.keys(await this.#files()).filter(() => this.#random() < 0.2);
    const changed = files.map((name) => [name, `by hand ${this.#random()}`] as const);
    for (const [name, content] of changed) await writeFile(path.join(this.#folder, name), content);
    return Object.fromEntries(changed);
  }

  async idle(): Promise<void> {
    const end = performance.now() + LONGEST_MS;
    for (;;) {
      const { busy, messages }: { busy: boolean; messages: unknown[] } = await this.#call('/queue');
      if (!busy && messages.length === 0) return;
      if (performance.now() > end) throw new Error(`The turn of ${this.key} does not end.`);
      await pause(50);
    }
  }

  async state(): Promise<State> {
    const notes = await this.#scenario.read(async (sql) => {
      const rows = await sql<{ notes: string }[]>`
        select coalesce((select items::text from todo where session = ${this.key}), '')
          || coalesce((select string_agg(name || content, ',' order by name) from scratchpad where session = ${this.key}), '') as notes`;
      return rows[0]?.notes ?? '';
    });
    return { files: await this.#files(), notes };
  }

  async #files(): Promise<Files> {
    const names = (await readdir(this.#folder).catch(() => [])).toSorted((a, b) => a.localeCompare(b));
    const read = names.map(async (name) => [name, await readFile(path.join(this.#folder, name), 'utf8')]);
    return Object.fromEntries(await Promise.all(read));
  }

  /** Repeats a request until a living gateway answers it. */
  async #call<Answer>(
    route: string,
    init: { method?: string; json?: object; headers?: object } = {},
  ): Promise<Answer> {
    const end = performance.now() + LONGEST_MS;
    const { method = 'GET', json, headers } = init;
    const body = json && { body: JSON.stringify(json) };
    for (;;) {
      try {
        const url = await this.#scenario.gateways[0]?.url();
        const response = await fetch(`${url}/v1/sessions/${this.key}${route}`, {
          method,
          headers: {
            authorization: `Bearer ${TOKEN}`,
            ...(json && { 'content-type': 'application/json' }),
            ...headers,
          },
          ...body,
        });
        if (response.ok) return await response.json();
        if (response.status < 500 && response.status !== 409) throw new Error(await response.text());
      } catch (error) {
        // What a dying gateway leaves: its address, or its connection.
        if (!(error instanceof TypeError)) throw error;
      }
      if (performance.now() > end) throw new Error(`${method} ${route} of ${this.key} is not answered.`);
      await pause(20);
    }
  }
}
