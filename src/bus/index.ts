/** The bus room's door: facts over lanes, sights over events. */
export { createEventBus } from './event-bus.ts';
export { chooseFanout } from './fanouts.ts';
export { createMessageBus } from './message-bus.ts';
