/** The search contract over the web search of ollama.com. */
import { searchContract } from './contract.ts';
import { startFakeOllamaSearch } from '../../../fakes/search/ollama.ts';

searchContract('ollama', { start: startFakeOllamaSearch, variable: 'OLLAMA_API_KEY' });
