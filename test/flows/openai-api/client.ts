/** OpenAI's own client at a gateway, and what is asked with it without a session. */
import OpenAI from 'openai';
import { z } from 'zod';
import { OWNER } from '../setup.ts';

/** A tool of the client. */
export const LOOK = {
  type: 'function' as const,
  function: {
    name: 'look',
    description: 'Looks at a place.',
    parameters: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] },
  },
};

/** The form of an answer. */
export const place = z.object({ city: z.string(), people: z.number() });

/** The messages of a question. */
export function says(content: string) {
  return [{ role: 'user' as const, content }];
}

/** The owner's client of the gateway at this address. */
export function openaiClient(url: string, maxRetries = 0): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: OWNER, maxRetries });
}
