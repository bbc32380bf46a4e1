/**
 * The path of a message to its first edit, as docs/architecture.md lists it: the functions exist and are all called, and
 * the list is not longer than it may become.
 */
import { Session } from 'node:inspector/promises';
import { parse } from '@babel/parser';
import { isFunction, type Node, traverseFast } from '@babel/types';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { describeGateway, FRIENDS, WAIT } from '../flows/setup.ts';
import { readText } from '../docs/pages.ts';

const [, section = ''] = readText('docs/architecture.md').split('### From an update to its first edit');
const [text = ''] = section.split(/^#+ /m);
const steps = [...text.matchAll(/^(\d+)\. `([#\w]+)` in `([^`]+)` /gm)].map(
  ([, number, name = '', file = '']) => ({ number: Number(number), name, file }),
);

/** Most calls from an update to its first edit. */
const MOST = 24;

/** The names of the functions and methods of a file; private ones with their `#`. */
function functionsOf(file: string): string[] {
  const names: string[] = [];
  const tree = parse(readText(file), { sourceType: 'module', plugins: ['typescript'] });
  traverseFast(tree, (node) => {
    const named = nameOf(node);
    if (named !== undefined) names.push(named);
  });
  return names;
}

/** The name of a function or a method; of a property, if its value is a function. */
function nameOf(node: Node): string | undefined {
  switch (node.type) {
    case 'FunctionDeclaration':
    case 'FunctionExpression':
      return node.id?.name;
    case 'ClassPrivateMethod':
      return `#${node.key.id.name}`;
    case 'ClassMethod':
    case 'ObjectMethod':
      return node.key.type === 'Identifier' ? node.key.name : undefined;
    case 'ClassProperty':
    case 'ObjectProperty':
      return node.key.type === 'Identifier' && isFunction(node.value) ? node.key.name : undefined;
    default:
      return undefined;
  }
}

describe('the path from an update to its first edit', () => {
  it(`has at most ${MOST} numbered steps, as the page says`, () => {
    expect(text).toContain(`in calls: at most ${MOST}.`);
    expect(steps.length).toBeGreaterThan(20);
    expect(steps.length).toBeLessThanOrEqual(MOST);
    expect(steps.map(({ number }) => number)).toEqual(steps.map((_, at) => at + 1));
    expect(text.match(/^\d+\. /gm)).toHaveLength(steps.length);
  });

  it.each(steps)('$number: $name is in $file', ({ name, file }) => {
    expect(functionsOf(file)).toContain(name);
  });

  it('names no step twice', () => {
    const named = steps.map(({ name, file }) => `${file} ${name}`);
    expect(new Set(named).size).toBe(named.length);
  });
});

const file = { access: { telegram: { allow: FRIENDS } } };

describeGateway('a message whose answer is streamed', { telegram: true, file }, (fixture) => {
  it('passes through each step before the first edit of its answer', async () => {
    const { ollama, telegram } = fixture();
    const [chat = ''] = FRIENDS;
    const text = Array.from({ length: 60 }, (_, at) => `word${at} `);
    ollama.answer({ text, perSecond: 20, failure: { kind: 'hang', after: 59 } }, { when: 'tell me' });
    const session = new Session();
    session.connect();
    onTestFinished(() => session.disconnect());
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    telegram.says(chat, 'tell me', chat);
    await vi.waitFor(() => expect(telegram.count('editMessageText')).toBeGreaterThan(0), WAIT);
    const { result } = await session.post('Profiler.takePreciseCoverage');
    await session.post('Profiler.stopPreciseCoverage');
    const called = result.flatMap(({ url, functions }) =>
      functions.flatMap(({ functionName, ranges: [whole] }) =>
        whole !== undefined && whole.count > 0 ? [`${functionName} in ${url}`] : [],
      ),
    );
    const missing = steps.filter(
      ({ name, file: of }) => !called.some((one) => one.startsWith(`${name} in `) && one.endsWith(of)),
    );
    expect(missing).toEqual([]);
    (await fixture().modelCall('tell me')).release();
    await fixture().idle(`telegram:${chat}`);
  });
});
