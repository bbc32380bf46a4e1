/** Real chat templates render every request of a day: the judges of what leaves for a model server. */
import { beforeAll, describe, expect, it } from 'vitest';
import { createVoice, type Shape, shapeMessages, USUAL_SHAPE } from '../../src/providers/shape.ts';
import { textOf } from '../fakes/model/spoken-text.ts';
import {
  type ChatTemplate,
  hasLlamaCpp,
  huggingFaceTemplates,
  llamaCppTemplates,
  rendererOf,
} from './chat-templates.ts';
import { readWire, toBody } from './read-wire.ts';
import { recordDay, type RecordedRequest } from './recorded-day.ts';

/** A day takes some seconds, and much longer on a busy machine. */
const DAY_MS = 180_000;

/** Templates with a limit of their own, and the shape that they accept; all others accept the usual one. */
const NEEDS: [shape: Shape, templates: RegExp][] = [
  [{ system: 'lead', exchanges: 'single' }, /^meta-llama-Llama-3\.[123]-/],
  [
    { system: 'lead', exchanges: 'text' },
    /^(aya-expanse:8b|aya:35b|command-r-plus:104b|command-r:35b|llama2:7b|mistral-large:123b|mistral-small:24b|mixtral:8x22b|mixtral:8x7b)$/,
  ],
  [
    { system: 'fold', exchanges: 'text' },
    /^(gemma2:2b|llava:7b|mistral:7b-instruct-fp16|google-gemma-2-2b-it)$/,
  ],
];

const shapeOf = ({ name }: ChatTemplate): Shape =>
  NEEDS.find(([, templates]) => templates.test(name))?.[0] ?? USUAL_SHAPE;

/** The requests of a day in another shape. Their marks are of another voice, so that none counts as forged. */
function inShape(day: readonly RecordedRequest[], shape: Shape): RecordedRequest[] {
  const voice = createVoice('0123456789abcdef');
  return day.map(({ name, body }) => ({
    name,
    body: toBody(body, shapeMessages(readWire(body), shape, voice)),
  }));
}

/** Recorded once for both collections. */
const days = new Map<string, Promise<RecordedRequest[]>>();
function dayOn(wire: 'openai' | 'ollama'): Promise<RecordedRequest[]> {
  const day = days.get(wire) ?? recordDay(wire);
  days.set(wire, day);
  return day;
}

interface Verdict {
  refused: string[];
  /** Requests whose last words are not in what the model reads. */
  lost: string[];
  engine: number;
}

function judge(template: ChatTemplate, day: readonly RecordedRequest[]): Verdict {
  const render = rendererOf(template);
  const verdict: Verdict = { refused: [], lost: [], engine: 0 };
  // A server uses such a template only for requests with tools.
  const isForTools = template.name.endsWith('-tool_use');
  for (const { name, body } of day) {
    if (isForTools && body['tools'] === undefined) continue;
    const rendering = render(body);
    if ('refused' in rendering) verdict.refused.push(`${template.name}, ${name}: ${rendering.refused}`);
    else if ('engine' in rendering) verdict.engine += 1;
    else {
      const [last = ''] = textOf(body.messages.at(-1) ?? { role: 'none' })
        .trim()
        .split('\n')
        .slice(-1);
      if (!rendering.text.includes(last)) verdict.lost.push(`${template.name}, ${name}`);
    }
  }
  return verdict;
}

describe.each([
  ['the packages of every install', true, huggingFaceTemplates, 60],
  ['llama.cpp (npm run test:oracles installs it)', hasLlamaCpp, llamaCppTemplates, 70],
])('the templates of %s', (_, isInstalled, list, atLeast) => {
  describe.skipIf(!isInstalled).each(['openai', 'ollama'] as const)('and a day on the wire of %s', (wire) => {
    let day: RecordedRequest[] = [];
    let templates: ChatTemplate[] = [];
    beforeAll(async () => {
      templates = list();
      day = await dayOn(wire);
    }, DAY_MS);

    it('are as many as they were', () => {
      expect(templates.length).toBeGreaterThanOrEqual(atLeast);
      expect(
        new Set(day.map(({ body }) => body.messages.map(({ role }) => role).join())).size,
      ).toBeGreaterThan(20);
      expect(day.length).toBeGreaterThan(60);
    });

    it('refuse no request, and lose the end of none', { timeout: DAY_MS }, () => {
      const shaped = new Map(NEEDS.map(([shape]) => [shape, inShape(day, shape)]));
      const verdicts = templates.map((template) => judge(template, shaped.get(shapeOf(template)) ?? day));
      expect(verdicts.flatMap(({ refused }) => refused)).toEqual([]);
      // Templates without such a role drop what tools say.
      const knowTools = templates.flatMap(({ source }, index) =>
        /['"]tool['"]/.test(source) ? [index] : [],
      );
      expect(knowTools.flatMap((index) => verdicts[index]?.lost ?? [])).toEqual([]);
      const rendered = verdicts.filter(({ engine }) => engine < day.length).length;
      expect(rendered).toBeGreaterThanOrEqual(atLeast - 4);
    });

    it('refuse the usual shape only where this is known', { timeout: DAY_MS }, () => {
      const strict = templates.filter((template) => shapeOf(template) !== USUAL_SHAPE);
      const refusing = strict.filter((template) => judge(template, day).refused.length > 0);
      expect(refusing).toEqual(strict);
    });
  });
});
