/** Real chat templates render every request of a day: the gate's judge of what leaves for a model server. */
import { beforeAll, describe, expect, it } from 'vitest';
import { hasLlamaCpp, huggingFaceTemplates, llamaCppTemplates, renderRequest } from './chat-templates.ts';
import type { ChatTemplate } from './chat-templates.ts';
import { recordDay } from './recorded-day.ts';
import type { RecordedRequest } from './recorded-day.ts';

const DAY_MS = 120_000;

describe.each(['openai', 'ollama'] as const)('a day over the wire of %s', (wire) => {
  let day: RecordedRequest[] = [];
  beforeAll(async () => void (day = await recordDay(wire)), DAY_MS);

  it('has all its requests', () => {
    for (const { name, body } of day)
      console.log(name.padEnd(60), body.messages.map(({ role }) => role[0]).join(''));
    expect(day.length).toBeGreaterThan(26);
  });

  it('renders', () => {
    const templates: ChatTemplate[] = [
      ...huggingFaceTemplates(),
      ...(hasLlamaCpp ? llamaCppTemplates() : []),
    ];
    const counts = new Map<string, number>();
    for (const template of templates)
      for (const { body } of day) {
        const r = renderRequest(template, body);
        const key =
          'text' in r
            ? 'ok'
            : 'refused' in r
              ? `${template.name}: ${r.refused}`
              : `${template.name} ENGINE ${r.engine.slice(0, 90)}`;
        counts.set(key, (counts.get(key) ?? 0) + 1);
      }
    console.log(day.length, templates.length, [...counts].map(([k, v]) => `${v} ${k}`).join('\n'));
  });
});
