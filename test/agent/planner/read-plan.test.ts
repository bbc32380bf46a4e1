/** From the model's text to a plan: what models really write, and what none should. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { makePlan, planInstruction } from '../../../src/agent/plans/draft-plan.ts';
import { builtInLanguages } from '../../fakes/gateway/languages.ts';
import { planCard, planForModel, todosOf } from '../../../src/agent/plans/plan-text.ts';
import {
  MAX_MILESTONES,
  readAnalysis,
  readPlan,
  readReview,
  reviewText,
} from '../../../src/agent/plans/read-plan.ts';
import { MAX_PLAN_STEPS } from '../../../src/protocol/agent/plan.ts';
import { MAX_TODO_CHARS } from '../../../src/protocol/store/notes.ts';
import { renderTelegram } from '../../../channels/telegram/render.ts';
import { parseMarkdown } from '../../../src/lib/markdown/markdown.ts';
import { readableMath } from '../../../src/lib/markdown/math-text.ts';
import { riskyTools } from '../../fakes/agent/risky-tools.ts';
import { inEnglish } from '../../../src/protocol/texts/say.ts';

const known = { tools: new Set(['web_search', 'read_file']), profiles: new Set(['research']) };
const self = { kind: 'self' };

describe('the analysis', () => {
  it.each([
    ['DIRECT', true],
    ['**DIRECT**', true],
    ['DIRECT - a greeting', true],
    ['<think>Is it DIRECT?\nNo.</think>\nDIRECT', true],
    ['Classification: DIRECT', true],
    ['Thinking it over.\nDIRECT', true],
    ['Direct flights to Rome are wanted.\nREFLECT: no', false],
    ['The user wants a DIRECT flight.\nREFLECT: no', false],
    ['', false],
  ])('recognizes %j as direct: %s (N-15)', (answer, direct) => {
    expect(readAnalysis(answer).direct).toBe(direct);
  });

  it.each([
    ['Goal: bread.\nREFLECT: yes', true],
    ['Goal: bread.\n**REFLECT:** Yes', true],
    ['REFLECT: yes, for the oven may be cold', true],
    ['First REFLECT: yes, but then\nREFLECT: no', false],
    ['Goal: bread.\nREFLECT: no', false],
    ['Goal: bread.\nREFLECT: yes/no', false],
    ['REFLECT: perhaps', false],
    ['We should reflect. Yes, we should.', false],
    ['Goal: bread.', false],
  ])('reads the verdict of %j as reflect: %s (N-16)', (answer, reflect) => {
    expect(readAnalysis(answer)).toMatchObject({ direct: false, reflect });
  });
});

describe('the review', () => {
  it('has four sections, however they are marked (N-18)', () => {
    const answer = [
      'Here is my review.',
      '## Critic',
      'The oven may be cold.',
      '**Pragmatist:** buy bread',
      '3. Detailer - which flour?',
      'and how much?',
      'Plan Adjustments:',
      '- look into the oven first',
    ].join('\n');
    expect(readReview(answer)).toEqual({
      critic: 'The oven may be cold.',
      pragmatist: 'buy bread',
      detailer: 'which flour?\nand how much?',
      planAdjustments: '- look into the oven first',
    });
  });

  it('accepts missing sections, and uses the whole text of a review without any (N-18)', () => {
    expect(readReview('Critic: too long')).toEqual({ critic: 'too long' });
    expect(readReview('I like it.')).toEqual({});
    expect(reviewText('I like it.')).toBe('I like it.');
    expect(reviewText('Pragmatist: buy bread\nCritic: too long')).toBe(
      'Critic:\ntoo long\n\nPragmatist:\nbuy bread',
    );
  });
});

describe('the plan', () => {
  it('has milestones and numbered steps with their executors (N-20, N-21)', () => {
    const answer = [
      '## Milestones',
      '- Know the recipe',
      '* Bread on the table',
      '',
      '## Steps',
      '1. [TOOL: web_search] Find a recipe',
      '2. [AGENT: research] Compare three bakeries',
      '3. [SELF] Write the shopping list',
      '4) Wait',
    ].join('\n');
    expect(readPlan(answer, known)).toEqual({
      milestones: ['Know the recipe', 'Bread on the table'],
      steps: [
        { description: 'Find a recipe', executor: { kind: 'tool', tool: 'web_search' } },
        { description: 'Compare three bakeries', executor: { kind: 'agent', profileId: 'research' } },
        { description: 'Write the shopping list', executor: self },
        { description: 'Wait', executor: self },
      ],
    });
  });

  it('is recognized in the other formats that models use (N-20)', () => {
    const headed =
      '### Milestone 1: Dough\n1. Knead (SELF)\n### Milestone 2: Oven\n2. **Look** — TOOL: `read_file`';
    expect(readPlan(headed, known)).toEqual({
      milestones: ['Dough', 'Oven'],
      steps: [
        { description: 'Knead', executor: self },
        { description: 'Look', executor: { kind: 'tool', tool: 'read_file' } },
      ],
    });
    const below =
      'Steps:\n1. Look it up\n   - Executor: TOOL: web_search\n2. Tell the user\n   Executor: SELF';
    expect(readPlan(below, known)?.steps).toEqual([
      { description: 'Look it up', executor: { kind: 'tool', tool: 'web_search' } },
      { description: 'Tell the user', executor: self },
    ]);
    const loud =
      '### Step 1: Write C#\n**2. Write the executor\u2019s words** [SELF]\nStep 3 - Go (TOOL: web_search)';
    expect(readPlan(loud, known)?.steps).toEqual([
      { description: 'Write C#', executor: self },
      { description: 'Write the executor\u2019s words', executor: self },
      { description: 'Go', executor: { kind: 'tool', tool: 'web_search' } },
    ]);
    const numbered = 'Milestones:\n1. Dough\n2. Oven\nSteps:\n1. Knead';
    expect(readPlan(numbered, known)).toEqual({
      milestones: ['Dough', 'Oven'],
      steps: [{ description: 'Knead', executor: self }],
    });
  });

  it('leaves a step with an unknown tool or profile to the agent itself, with a note (N-21)', () => {
    const steps = readPlan(
      '1. TOOL: teleport Go there\n2. [AGENT: butler]\n3. [TOOL: web_search]',
      known,
    )?.steps;
    expect(steps).toEqual([
      { description: 'Go there (the tool "teleport" is not available here)', executor: self },
      { description: 'Hand over to butler (the agent "butler" is not available here)', executor: self },
      { description: 'Use web_search', executor: { kind: 'tool', tool: 'web_search' } },
    ]);
  });

  it('keeps 15 of 20 steps, and any number below (N-23)', () => {
    const steps = (count: number): string =>
      Array.from({ length: count }, (_, n) => `${n + 1}. Step ${n + 1}`).join('\n');
    for (const written of [20, 200]) {
      const kept = readPlan(steps(written), known)?.steps ?? [];
      expect(kept).toHaveLength(MAX_PLAN_STEPS);
      expect(kept.at(-1)?.description).toBe('Step 15');
    }
    expect([1, 4, 15].map((count) => readPlan(steps(count), known)?.steps.length)).toEqual([1, 4, 15]);
  });

  it('is undefined without a numbered line (N-29)', () => {
    expect(readPlan('I would first look, and then bake.\n- look\n- bake', known)).toBeUndefined();
    expect(readPlan('', known)).toBeUndefined();
    expect(readPlan('1.\n2.', known)).toBeUndefined();
  });

  it('is parsed from any text without an exception: at most 15 steps of one line of limited length each', () => {
    const line = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('Steps:', '## Milestones', '- a', 'Milestone 2: x', '</think>', '1. [TOOL: x] y', ''),
      fc
        .tuple(fc.nat(99_999), fc.constantFrom('.', ')', ' '), fc.string({ unit: 'binary', maxLength: 600 }))
        .map(([n, mark, words]) => `${n}${mark} ${words}`),
      fc
        .constantFrom('TOOL:', 'AGENT: research', '[SELF]')
        .map((words) => `7. ${words} ${'long '.repeat(300)}`),
    );
    const plans = fc.property(fc.array(line, { maxLength: 40 }), (lines) => {
      const answer = lines.join('\n');
      const written = readPlan(answer, known);
      readAnalysis(answer);
      readReview(answer);
      if (written === undefined) return true;
      const plan = makePlan(written, { goal: answer, mode: 'planner', tools: new Map(), say: inEnglish });
      return (
        plan.steps.length > 0 &&
        plan.steps.length <= MAX_PLAN_STEPS &&
        plan.originalLength === plan.steps.length &&
        plan.milestones.length <= MAX_MILESTONES &&
        plan.steps.every((step, index) => step.index === index && isLine(step.description))
      );
    });
    expect(fc.check(plans, { numRuns: 500 })).toMatchObject({ failed: false });
  });

  it('is parsed quickly even from hostile text', () => {
    const hostile = [
      '1. '.repeat(8_000),
      '-'.repeat(24_000),
      `${'*#'.repeat(12_000)}x`,
      '[TOOL:'.repeat(4_000),
    ];
    const began = performance.now();
    for (const words of hostile) {
      readPlan(words, known);
      readAnalysis(words);
      readReview(words);
    }
    expect(performance.now() - began).toBeLessThan(5_000);
  });
});

function isLine(words: string): boolean {
  return words !== '' && !words.includes('\n') && words.length <= MAX_TODO_CHARS;
}

describe('a finished plan', () => {
  const written = readPlan(
    'Milestones\n- Dough\nSteps\n1. [TOOL: wipe] Run *it*\n2. [AGENT: research] Ask\n3. Eat',
    {
      tools: new Set(['wipe']),
      profiles: new Set(['research']),
    },
  );
  if (written === undefined) throw new Error('The plan was not read.');
  const plan = makePlan(written, {
    goal: 'Bake\nbread',
    mode: 'agentic',
    say: inEnglish,
    tools: new Map(riskyTools([]).map((tool) => [tool.name, tool])),
  });

  it('has ids, the session’s mode, and for each step the risk its tool declares', () => {
    expect(plan).toMatchObject({ goal: 'Bake bread', mode: 'agentic', state: 'running', originalLength: 3 });
    expect(plan.steps.map(({ id, index, risk, status }) => [id, index, risk, status])).toEqual([
      ['s1', 0, 'dangerous', 'pending'],
      ['s2', 1, 'safe', 'pending'],
      ['s3', 2, 'safe', 'pending'],
    ]);
  });

  it('reads the same in the model’s context, in the card and in the todo list (N-25, N-26, N-27)', () => {
    expect(planForModel(plan)).toBe(
      'My plan.\nMilestones:\n- Dough\nSteps:\n1. [TOOL: wipe] Run *it*\n2. [AGENT: research] Ask\n3. [SELF] Eat',
    );
    expect(planCard(plan, inEnglish)).toBe(
      '**Plan**\n\n- Dough\n\n1. Run \\*it\\* *(tool wipe)*\n2. Ask *(agent research)*\n3. Eat',
    );
    expect(planCard(plan, builtInLanguages.say({ channel: 'telegram', language: 'de' }))).toContain(
      '1. Run \\*it\\* *(Werkzeug wipe)*',
    );
    const [first, ...rest] = plan.steps;
    const described = {
      ...plan,
      steps: [{ ...first!, description: 'fix a[1] and b[2], $x_1$, \\[y = 2\\]' }, ...rest],
    };
    expect(renderTelegram(parseMarkdown(readableMath(planCard(described, inEnglish)))).plain).toContain(
      '1. fix a[1] and b[2], $x_1$, \\[y = 2\\] (tool wipe)',
    );
    expect(todosOf(plan).map(({ text, status }) => `${text}: ${status}`)).toEqual([
      'Run *it*: pending',
      'Ask: pending',
      'Eat: pending',
    ]);
  });
});

it('is requested with the ranges of depth, the limit and the comma test (N-22, N-24)', () => {
  const asked = planInstruction({
    analysis: 'a',
    tools: [{ name: 'web_search', description: 'Finds.' }],
    agents: [],
  });
  expect(asked).toContain(
    'simple request takes 1-3 steps, a medium one 5-9, a complex or autonomous one 8-15',
  );
  expect(asked).toContain('never more than 15');
  expect(asked).toMatch(/several things, joined by "and" or by commas.*its own step/);
  expect(asked).toContain('- web_search: Finds.');
  expect(asked).toContain('Agents: none');
});
