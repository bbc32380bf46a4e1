/**
 * What a person gets once they write again: after 24 hours without a word of theirs, WhatsApp accepts only a template, which
 * asks them to. Stored, so that it survives restarts. [Cloud API: "Customer service windows"]
 */
import * as z from 'zod';
import type { PluginChannelHost } from '../../src/protocol/plugin.ts';
import { GraphFailure } from './failures.ts';
import { addressed, type Graph } from './graph.ts';

/** Longest content that is held for one person, as JSON in UTF-16 units: values of the store have at most 16 KiB. */
export const MAX_HELD = 4_000;
/** A person gets one template in this time, in milliseconds. */
const TEMPLATE_MS = 24 * 3_600_000;

const Stored = z.object({
  /** When the template was sent, and its id. */
  at: z.number(),
  template: z.string(),
  bodies: z.array(z.looseObject({ type: z.string() })),
});
const Answer = z.object({ messages: z.array(z.object({ id: z.string() })).min(1) });

interface BacklogParts {
  graph: Graph;
  phoneId: string;
  store: PluginChannelHost['store'];
  /** `name` or `name:language`; undefined without one. */
  template: string | undefined;
  now: () => number;
}

export class Backlog {
  readonly #parts: BacklogParts;

  constructor(parts: BacklogParts) {
    this.#parts = parts;
  }

  /** Holds content and sends the template, unless they have it. Gives its id; undefined without a template. */
  async hold(chatId: string, body: Record<string, unknown> & { type: string }): Promise<string | undefined> {
    const { template, store, now } = this.#parts;
    if (template === undefined) return undefined;
    const existing = await this.#of(chatId);
    const bodies = [...(existing?.bodies ?? []), body];
    if (JSON.stringify(bodies).length > MAX_HELD)
      throw new GraphFailure(
        'rejected',
        'More is waiting for this person than can be held until they write.',
      );
    const isAsked = existing !== undefined && now() - existing.at < TEMPLATE_MS;
    const request = isAsked ? existing : { at: now(), template: await this.#sendTemplate(chatId, template) };
    await store.set(keyOf(chatId), JSON.stringify({ at: request.at, template: request.template, bodies }));
    return request.template;
  }

  /** Sends what is held for a person who has just written. */
  async release(chatId: string): Promise<void> {
    const { graph, phoneId, store } = this.#parts;
    const record = await this.#of(chatId);
    if (record === undefined) return;
    for (const [at, body] of record.bodies.entries()) {
      const message = { ...addressed(chatId), ...body };
      await graph.call({ method: 'POST', path: `${phoneId}/messages`, body: message, chatId });
      const rest = record.bodies.slice(at + 1);
      const next = rest.length === 0 ? undefined : JSON.stringify({ ...record, bodies: rest });
      await store.set(keyOf(chatId), next);
    }
  }

  async #of(chatId: string): Promise<z.infer<typeof Stored> | undefined> {
    const value = await this.#parts.store.get(keyOf(chatId));
    return value === undefined ? undefined : Stored.parse(JSON.parse(value));
  }

  async #sendTemplate(chatId: string, template: string): Promise<string> {
    const [name = '', code = 'en_US'] = template.split(':');
    const { graph, phoneId } = this.#parts;
    const body = { ...addressed(chatId), type: 'template', template: { name, language: { code } } };
    const answer = await graph.call({ method: 'POST', path: `${phoneId}/messages`, body, chatId });
    return Answer.parse(answer).messages[0]?.id ?? '';
  }
}

function keyOf(chatId: string): string {
  return `held.${chatId}`;
}
