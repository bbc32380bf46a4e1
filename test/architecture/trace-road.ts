/** Which functions of the product a running program passes through, read from its call stacks. */
import { Session } from 'node:inspector/promises';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { ROOT } from './imports.ts';

/** A place in a function: code that its file contains once. */
export interface Place {
  file: string;
  code: string;
  /** Only a stack with this function counts. */
  through?: string;
}

/** A named function on a road. */
export type Hop = `${string} in ${string}`;

declare global {
  var noteStack: ((place: number) => void) | undefined;
}

/**
 * Runs `act`, and returns the named functions of the product that were on the stack when each place was first reached, the
 * outermost first, without those that an earlier place had already. A stack includes the callers that await. V8 takes it
 * without stopping: the condition of a breakpoint that never holds.
 */
export async function traceRoad(places: readonly Place[], act: () => Promise<void>): Promise<Hop[]> {
  const stacks: Hop[][][] = places.map(() => []);
  const session = new Session();
  session.connect();
  onTestFinished(() => session.disconnect());
  const scripts: { scriptId: string; url: string }[] = [];
  session.on('Debugger.scriptParsed', ({ params }) => void scripts.push(params));
  await session.post('Debugger.enable');
  for (const [index, { file, code }] of places.entries()) {
    for (const { scriptId } of scripts.filter(({ url }) => url.endsWith(`/${file}`))) {
      const { scriptSource } = await session.post('Debugger.getScriptSource', { scriptId });
      const parts = scriptSource.split(code);
      if (parts.length !== 2) throw new Error(`${file} must contain ${code} once`);
      const lines = parts[0]!.split('\n');
      const location = { scriptId, lineNumber: lines.length - 1, columnNumber: lines.at(-1)!.length };
      await session.post('Debugger.setBreakpoint', {
        location,
        condition: `globalThis.noteStack?.(${index}), false`,
      });
    }
  }
  globalThis.noteStack = (index) => void stacks[index]!.push(hopsNow());
  try {
    await act();
  } finally {
    globalThis.noteStack = undefined;
    await session.post('Debugger.disable');
  }
  const road = new Set<Hop>();
  for (const [index, { file, code, through }] of places.entries()) {
    const stack = stacks[index]!.find((hops) => through === undefined || hops.includes(through as Hop));
    if (stack === undefined) throw new Error(`${code} in ${file} was not reached`);
    for (const hop of stack) road.add(hop);
  }
  return [...road];
}

/** The named functions of the product on the current stack, the outermost first; lambdas have no name. */
function hopsNow(): Hop[] {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 200;
  const { stack = '' } = new Error('here');
  Error.stackTraceLimit = stackTraceLimit;
  const frames = stack.matchAll(
    /^ +at (?:async )?([^\s(]+)(?: \[as \S+\])? \((?:file:\/\/)?([^)]+?):\d+:\d+\)$/gm,
  );
  return [...frames].toReversed().flatMap(([, name = '', file = '']) => {
    const place = path.relative(ROOT, file);
    return /^(src|channels)\//.test(place) ? [`${name.split('.').at(-1)} in ${place}` as Hop] : [];
  });
}
