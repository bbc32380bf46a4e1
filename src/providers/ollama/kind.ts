/** Ollama as a kind of model server. Its code is loaded when a server of this kind is made. */
import { defineKind, settingsFor } from '../kind.ts';

/** Where Ollama listens by default. */
const OLLAMA_URL = 'http://127.0.0.1:11434';

export const ollamaKind = defineKind({
  kind: 'ollama',
  settings: settingsFor('ollama'),
  environment: {
    needs: 'provider.needs_ollama',
    read: ({ OLLAMA_HOST }) => ({
      baseUrl: OLLAMA_HOST ?? OLLAMA_URL,
      addressSetting: 'OLLAMA_HOST',
      keySetting: 'providers.ollama.apiKeyEnv',
      named: OLLAMA_HOST !== undefined,
    }),
  },
  create: async (server, { concurrency }) => {
    const { createOllama } = await import('./ollama.ts');
    return createOllama({ ...server, concurrency });
  },
});
