/** Public API of the bus: durable work over lanes, live events over the event bus. */
export { createEventBus } from './event-bus.ts';
export { chooseFanout } from './fanouts.ts';
export { createMessageBus } from './message-bus.ts';
