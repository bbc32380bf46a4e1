/** What the composition root needs of this module. */
export { addressFrom, createKnowledgeApi } from './administration.ts';
export { createEmbeddingModel } from './embedding-model.ts';
export { importNext, type ImportDeps } from './import-source.ts';
export { createKnowledge } from './knowledge.ts';
