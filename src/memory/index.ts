/** What the composition root needs of this module. */
export { createMemory } from './memory.ts';
export { createBackfill, type Backfill, type BackfillDeps } from './backfill.ts';
export { createQuestions, type QuestionDeps, type VectorOf } from './questions.ts';
