/** The routes of OpenAI's API that make and read answers. */
import type { Route } from '../../route.ts';
import { speech, transcriptions } from './audio.ts';
import { completions } from './completions.ts';
import { embeddings } from './embeddings.ts';
import { responses } from './responses.ts';
import { textCompletions } from './text-completions.ts';
import { deleteResponse, listInputItems, readResponse } from './stored-responses.ts';

export const OPENAI_ROUTES: readonly Route[] = [
  { method: 'POST', path: '/v1/chat/completions', scope: 'chat', handle: completions },
  { method: 'POST', path: '/v1/responses', scope: 'chat', handle: responses },
  { method: 'GET', path: '/v1/responses/:id', scope: 'chat', handle: readResponse },
  { method: 'DELETE', path: '/v1/responses/:id', scope: 'chat', handle: deleteResponse },
  { method: 'GET', path: '/v1/responses/:id/input_items', scope: 'chat', handle: listInputItems },
  { method: 'POST', path: '/v1/completions', scope: 'chat', handle: textCompletions },
  { method: 'POST', path: '/v1/audio/transcriptions', scope: 'chat', handle: transcriptions },
  { method: 'POST', path: '/v1/audio/speech', scope: 'chat', handle: speech },
  { method: 'POST', path: '/v1/embeddings', scope: 'chat', handle: embeddings },
];
