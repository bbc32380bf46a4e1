/** The search contract over Brave. */
import { searchContract } from './contract.ts';
import { startFakeBrave } from '../../../fakes/search/brave.ts';

searchContract('brave', { start: startFakeBrave, variable: 'BRAVE_API_KEY' });
