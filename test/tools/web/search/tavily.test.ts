/** The search contract over Tavily. */
import { searchContract } from './contract.ts';
import { startFakeTavily } from '../../../fakes/search/tavily.ts';

searchContract('tavily', { start: startFakeTavily, variable: 'TAVILY_API_KEY' });
