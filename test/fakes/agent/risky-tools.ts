/** Tools of every kind that the approval gate distinguishes; each records what it was run with. */
import { z } from 'zod';
import { defineTool, type Tool } from '../../../src/protocol/agent/tool.ts';

/** What ran: the tool's name and its word. */
export type Ran = string[];

const parameters = z.strictObject({ word: z.string().default(''), count: z.number().optional() });
type Args = z.infer<typeof parameters>;

/** `wipe` is dangerous, `tell` reaches outside, `note` stays in the session, `look` reads what others wrote, `fetch` asks an address. */
export function riskyTools(ran: Ran, looksLike = 'something'): Tool[] {
  const make = (name: string, rest: Pick<Tool<Args>, 'effect' | 'risk' | 'results' | 'reach' | 'warning'>) =>
    defineTool<Args>({
      name,
      description: `Does what ${name} says.`,
      parameters,
      ...rest,
      execute: async ({ word }) => {
        ran.push(`${name} ${word}`);
        return { content: name === 'look' ? looksLike : `${name} ${word}: ok` };
      },
    });
  const trusted: Pick<Tool<Args>, 'results' | 'reach'> = { results: 'operator', reach: () => 'outside' };
  return [
    make('wipe', { ...trusted, effect: 'unsafe', risk: () => 'dangerous', warning: () => 'wipes a disk' }),
    make('tell', { ...trusted, effect: 'idempotent', risk: () => 'caution' }),
    make('note', { ...trusted, effect: 'idempotent', risk: () => 'caution', reach: () => 'session' }),
    make('look', { effect: 'pure', risk: () => 'safe', results: 'local', reach: () => 'session' }),
    make('fetch', {
      ...trusted,
      effect: 'pure',
      risk: () => 'caution',
      reach: ({ word }) => ({ address: word }),
    }),
  ];
}
