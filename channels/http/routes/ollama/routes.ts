/** The routes of Ollama's API. */
import type { Route } from '../../route.ts';
import { chat, generate } from './chat.ts';
import { embed, oldEmbed } from './embed.ts';
import { loaded, show, tags, version } from './models.ts';

export const OLLAMA_ROUTES: readonly Route[] = [
  { method: 'GET', path: '/api/version', scope: 'chat', handle: version },
  { method: 'GET', path: '/api/tags', scope: 'chat', handle: tags },
  { method: 'GET', path: '/api/ps', scope: 'chat', handle: loaded },
  { method: 'POST', path: '/api/show', scope: 'chat', handle: show },
  { method: 'POST', path: '/api/chat', scope: 'chat', handle: chat },
  { method: 'POST', path: '/api/generate', scope: 'chat', handle: generate },
  { method: 'POST', path: '/api/embed', scope: 'chat', handle: embed },
  { method: 'POST', path: '/api/embeddings', scope: 'chat', handle: oldEmbed },
];
