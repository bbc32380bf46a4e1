/** What the composition root needs of this module. */
export { createMemory } from './memory.ts';
