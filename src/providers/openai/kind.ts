/** OpenAI-compatible servers (llama-server, vLLM, LM Studio, …) as a kind. Their code is loaded when one is created. */
import { z } from 'zod';
import { defineKind, settingsFor } from '../kind.ts';

/** The server that a key without an address belongs to. */
const OPENAI_OWN_URL = 'https://api.openai.com/v1';

export const openaiKind = defineKind({
  kind: 'openai',
  settings: settingsFor('openai').extend({
    stream: z
      .boolean()
      .default(true)
      .describe('kind `openai` only: `false` for a server that cannot stream, answers come whole'),
    vision: z
      .boolean()
      .default(true)
      .describe(
        'kind `openai` only: `false` when its models see no pictures; else pictures are sent, and a model that refuses them is asked without',
      ),
  }),
  environment: {
    needs: 'provider.needs_openai',
    read: ({ OPENAI_BASE_URL, OPENAI_API_KEY }) =>
      OPENAI_BASE_URL === undefined && OPENAI_API_KEY === undefined
        ? undefined
        : {
            baseUrl: OPENAI_BASE_URL ?? OPENAI_OWN_URL,
            apiKey: OPENAI_API_KEY,
            addressSetting: 'OPENAI_BASE_URL',
            keySetting: 'OPENAI_API_KEY',
            named: OPENAI_BASE_URL !== undefined,
          },
  },
  create: async (server, { concurrency, stream, vision }) => {
    const { createOpenai } = await import('./openai.ts');
    return createOpenai({ ...server, concurrency, stream, vision });
  },
});
